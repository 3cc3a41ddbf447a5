package main

import (
	"bytes"
	"os"
	"testing"
)

// The embedded files are those of the modules that go.mod names.
func TestEmbeddedFilesAreTheModules(t *testing.T) {
	for name, parse := range files {
		want, err := buildFile(parse)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from the modules' CRDs: run `go generate ./internal/core/kinds`", name)
		}
	}
}
