package files

import (
	"bytes"
	"regexp"

	"cardea.dev/cardea/internal/core/model"
)

var (
	apiVersionText = regexp.MustCompile(`(?m)^[\s{]*"?apiVersion"?\s*:\s*["']?([^\s"',}]+)`)
	kindText       = regexp.MustCompile(`(?m)^[\s{]*"?kind"?\s*:\s*["']?([^\s"',}]+)`)
	metadataText   = regexp.MustCompile(`(?m)^[\s{]*"?metadata"?\s*:`)
	nameText       = regexp.MustCompile(`[\s{,"]name"?\s*:\s*["']?([^\s"',}]+)`)
	namespaceText  = regexp.MustCompile(`[\s{,"]namespace"?\s*:\s*["']?([^\s"',}]+)`)
)

// identify guesses which object a text that can't be parsed is about, by the lines that usually say so.
func (f *Folder) identify(text []byte) (model.ObjectRef, string) {
	meta := section(text)
	return f.schema.IdentifyBy(first(apiVersionText, text), first(kindText, text), first(namespaceText, meta),
		first(nameText, meta))
}

// section is the text of the metadata, as far as its end can be told.
func section(text []byte) []byte {
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

func first(pattern *regexp.Regexp, text []byte) string {
	if m := pattern.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
