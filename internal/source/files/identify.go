package files

import (
	"bytes"
	"regexp"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

var (
	apiVersionText = regexp.MustCompile(`(?m)^[\s{]*"?apiVersion"?\s*:\s*["']?([^\s"',}]+)`)
	kindText       = regexp.MustCompile(`(?m)^[\s{]*"?kind"?\s*:\s*["']?([^\s"',}]+)`)
	metadataText   = regexp.MustCompile(`(?m)^[\s{]*"?metadata"?\s*:`)
	nameText       = regexp.MustCompile(`[\s{,"]name"?\s*:\s*["']?([^\s"',}]+)`)
	namespaceText  = regexp.MustCompile(`[\s{,"]namespace"?\s*:\s*["']?([^\s"',}]+)`)
)

// identifyText guesses which object a text that can't be parsed is about, by the lines that usually say so.
func (f *Folder) identifyText(text []byte) (model.ObjectRef, string) {
	meta, kind := metadataSection(text), firstMatch(kindText, text)
	if strings.HasSuffix(kind, "List") {
		meta = nil // it is that of an item
	}
	return f.schema.IdentifyBy(firstMatch(apiVersionText, text), kind, firstMatch(namespaceText, meta),
		firstMatch(nameText, meta))
}

// metadataSection is the text of the metadata, as far as its end can be told.
func metadataSection(text []byte) []byte {
	at := metadataText.FindIndex(text)
	if at == nil {
		return nil
	}
	rest := text[at[1]:]
	for i := 0; i < len(rest); i++ {
		if rest[i] == '\n' && i+1 < len(rest) && bytes.IndexByte([]byte(" \t\r\n}"), rest[i+1]) < 0 {
			return rest[:i]
		}
		if rest[i] == '}' {
			return rest[:i+1]
		}
	}
	return rest
}

func firstMatch(pattern *regexp.Regexp, text []byte) string {
	if m := pattern.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
