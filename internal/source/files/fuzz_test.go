package files

import (
	"bytes"
	"encoding/json"
	"testing"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/schema"
)

func seeds(f *testing.F) {
	for _, s := range []string{
		"", "---", "a: b\n---\nc: d\n...\ne: f", "--- {a: b}\n", "\ufeff# x\r\n---\r\na: b\r\n",
		"%YAML 1.1\n---\na: |\n  ---\n", route("web", "a"),
		"{\"a\": 1}\n{\"b\": [1.5, 1e30, 2.0]}", "a: &x [1]\nb: *x\n", "\t", "? [a]\n: b\n",
		"a: !!binary aGk=\n1: 2\ntrue: 3\n",
		"kind: List\nitems: [{kind: Service}, 3]", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: YQ==}\n",
		"apiVersion: v1\nkind: Service\nmetadata: {name: 1}\nspec: {ports: [{port: 1e99}]}",
	} {
		f.Add([]byte(s))
	}
}

// The splitter loses nothing but empty documents, and each document stands at the line that it names.
func FuzzSplit(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, split := range []func([]byte) []chunk{splitYAML, splitJSON} {
			body := bytes.TrimPrefix(text, []byte("\ufeff"))
			line := 0
			for _, c := range split(text) {
				if len(bytes.Trim(c.text, " \t\r\n")) == 0 {
					t.Fatal("an empty document")
				}
				if c.line < line {
					t.Fatalf("line %d after %d", c.line, line)
				}
				line = c.line
				lines := bytes.SplitAfter(body, []byte("\n"))
				rest := bytes.Join(lines[c.line-1:], nil)
				if !bytes.Contains(rest, c.text) {
					t.Fatalf("%q does not stand at line %d", c.text, c.line)
				}
			}
		}
	})
}

// No text makes the reader panic, and what it makes of a text is what JSON would hold.
func FuzzRead(f *testing.F) {
	seeds(f)
	s := schema.New(kinds.NewCatalog())
	folder := &Folder{schema: s}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, split := range []func([]byte) []chunk{splitYAML, splitJSON} {
			for _, c := range split(text) {
				folder.identifyText(c.text)
				v, err := decodeChunk(c)
				if err != nil {
					continue
				}
				if _, err := json.Marshal(v); err != nil {
					t.Fatal(err)
				}
				objects, _, err := expandList(v)
				if err != nil {
					continue
				}
				for _, o := range objects {
					_, problems := s.Check(o.doc, schema.Options{})
					for _, p := range problems {
						if line := lineOf(c.text, o.position, p.Field); line < 1 || line > 1+bytes.Count(c.text, []byte("\n")) {
							t.Fatalf("%s at line %d", p.Field, line)
						}
					}
				}
			}
		}
	})
}
