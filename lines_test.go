package cardea

import (
	"bytes"
	"os"
	"testing"
	"unicode/utf8"
)

// longestLine is how many characters a line of Go may have. A tab counts as one character.
const longestLine = 120

// TestLines checks that no line is longer than longestLine, except in generated files, and that log lines use one key
// for errors.
func TestLines(t *testing.T) {
	seen := 0
	visit(t, func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if bytes.HasPrefix(text, []byte("// Code generated ")) {
			return
		}
		if bytes.Contains(text, []byte(`"err"`+", err")) {
			t.Errorf("%s: the key of an error in a log is \"error\"", path)
		}
		number := 0
		for line := range bytes.Lines(text) {
			number++
			if bytes.HasPrefix(bytes.TrimSpace(line), []byte("// +")) {
				continue // a marker, which can't be broken
			}
			if n := utf8.RuneCount(bytes.TrimRight(line, "\n")); n > longestLine {
				t.Errorf("%s:%d has %d characters, want %d at most", path, number, n, longestLine)
			}
		}
	})
	if seen < 100 {
		t.Errorf("only %d files were found", seen)
	}
}
