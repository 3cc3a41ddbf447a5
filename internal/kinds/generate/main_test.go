package main

import (
	"bytes"
	"os"
	"testing"
)

// The embedded schemas are those of the Gateway API module that go.mod names.
func TestEmbeddedSchemasAreTheModules(t *testing.T) {
	want, err := build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../crds.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("crds.json differs from the module's CRDs: run `go generate ./internal/kinds`")
	}
}
