package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// chunk is the text of one document.
type chunk struct {
	text []byte
	line int // of its first byte in the file, from 1
	json bool
	err  error
}

// splitYAML cuts a file at its document markers, without parsing it. Documents without content are left out.
func splitYAML(text []byte) []chunk {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	chunks := make([]chunk, 0, 1+bytes.Count(text, []byte("\n---")))
	for line := 1; len(text) > 0; {
		end := nextMarker(text)
		if c, ok := trimPreamble(chunk{text: text[:end:end], line: line}); ok {
			chunks = append(chunks, c)
		}
		line += bytes.Count(text[:end], []byte("\n"))
		text = text[end:]
	}
	return chunks
}

// nextMarker finds the first document marker after the text's first line.
func nextMarker(text []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '\n')
		// Most lines are not worth a look.
		for i >= 0 && at+i+1 < len(text) && text[at+i+1] != '-' && text[at+i+1] != '.' {
			at += i + 1
			i = bytes.IndexByte(text[at:], '\n')
		}
		if i < 0 || at+i+1 >= len(text) {
			return len(text)
		}
		at += i + 1
		if isMarker(text[at:], "---") || isMarker(text[at:], "...") {
			return at
		}
	}
}

// trimPreamble cuts what stands before a document's first line of content: markers, directives (they say nothing that
// matters here, and the parser wants them at the start of a stream), comments. It is not ok if no content is left.
func trimPreamble(c chunk) (_ chunk, ok bool) {
	for len(c.text) > 0 {
		end := len(c.text)
		if i := bytes.IndexByte(c.text, '\n'); i >= 0 {
			end = i + 1
		}
		line := c.text[:end]
		switch {
		case isMarker(line, "---") && hasContent(line[3:]):
			return c, true
		case !isMarker(line, "---") && !isMarker(line, "...") && !isDirective(line) && hasContent(line):
			return c, true
		}
		c.text = c.text[end:]
		c.line++
	}
	return c, false
}

// isMarker says whether a line is a document marker: at its very start, alone or followed by white space.
func isMarker(line []byte, marker string) bool {
	return len(line) >= 3 && string(line[:3]) == marker && (len(line) == 3 || strings.IndexByte(" \t\r\n", line[3]) >= 0)
}

func isDirective(line []byte) bool {
	return bytes.HasPrefix(line, []byte("%YAML ")) || bytes.HasPrefix(line, []byte("%TAG "))
}

// hasContent says whether a line holds more than white space and a comment.
func hasContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) > 0 && line[0] != '#'
}

// splitJSON cuts a file into its JSON values. The text after a mistake is one chunk with an error.
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
			return append(chunks, chunk{text: text[start:], line: line, json: true, err: err})
		}
		chunks = append(chunks, chunk{text: value, line: line, json: true})
	}
}
