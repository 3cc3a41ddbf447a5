package main

import (
	"bytes"
	"os"
	"testing"
)

// TestInstallIsCurrent holds the generated file against what it is made of.
func TestInstallIsCurrent(t *testing.T) {
	want, err := build("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../deploy/install.yaml"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("deploy/install.yaml is not current (%v): run `make generate`", err)
	}
}
