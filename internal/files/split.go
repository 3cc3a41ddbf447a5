package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
)

// digest identifies a text.
type digest [16]byte

func digestOf(text []byte) digest {
	sum := sha256.Sum256(text)
	return digest(sum[:16])
}

// chunk is the text of one document.
type chunk struct {
	text []byte
	line int // of its first byte in the file, from 1
	err  error
}

// splitYAML cuts a file at its document markers, without parsing it. A chunk starts with its "---" line if there is one. Chunks
// without content are left out.
func splitYAML(text []byte) []chunk {
	var chunks []chunk
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	start, startLine, line, content := 0, 1, 0, false
	add := func(end int) {
		if content {
			chunks = append(chunks, chunk{text: text[start:end:end], line: startLine})
		}
		content = false
	}
	for at := 0; at < len(text); {
		line++
		next := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		current := text[at:next]
		switch {
		case isMarker(current, "---"):
			add(at)
			start, startLine = at, line
			content = hasContent(current[3:])
		case isMarker(current, "..."):
			add(at)
			start, startLine = next, line+1
		case !content && isDirective(current):
			// It says nothing that matters here, and the parser wants it at the start of a stream.
			start, startLine = next, line+1
		case !content:
			content = hasContent(current)
		}
		at = next
	}
	add(len(text))
	return chunks
}

// isMarker says whether a line is a document marker: at its very start, alone or followed by white space.
func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	return len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0
}

func isDirective(line []byte) bool {
	return bytes.HasPrefix(line, []byte("%YAML ")) || bytes.HasPrefix(line, []byte("%TAG "))
}

// hasContent says whether a line holds more than white space and a comment.
func hasContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) > 0 && line[0] != '#'
}

// splitJSON cuts a file into its JSON values. What follows a mistake is one chunk with an error.
func splitJSON(text []byte) []chunk {
	var chunks []chunk
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	decoder := json.NewDecoder(bytes.NewReader(text))
	line, counted := 1, 0
	for {
		before := decoder.InputOffset()
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return chunks
		}
		start := int(before) + len(text[before:]) - len(bytes.TrimLeft(text[before:], " \t\r\n"))
		line += bytes.Count(text[counted:start], []byte("\n"))
		counted = start
		if err != nil {
			return append(chunks, chunk{text: text[start:], line: line, err: err})
		}
		chunks = append(chunks, chunk{text: value, line: line})
	}
}
