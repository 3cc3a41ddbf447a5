package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/builtin"
	"cardea.dev/cardea/internal/policykind"
)

// TestInstallIsCurrent holds the generated file against what it is made of.
func TestInstallIsCurrent(t *testing.T) {
	policies, err := policykind.Of(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	want, err := build("../../deploy", policies)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../deploy/install.yaml"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("deploy/install.yaml is not current (%v): run `make generate`", err)
	}
}

// A kind of policies that has a feature is installed, with the permission to read it and to write its status; others
// are not.
func TestPolicies(t *testing.T) {
	policies, err := policykind.New(policykind.Own(), []*extend.Declared{
		{Kind: extend.TrafficPolicy, Name: "a", Schema: []byte(`{"type": "object"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := build("../../deploy", policies)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"name: trafficpolicies.cardea.dev\n", "- trafficpolicies\n", "- trafficpolicies/status\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the manifest has no %q", want)
		}
	}
	if strings.Contains(string(text), "clientpolicies") {
		t.Error("a kind without features is installed")
	}
}
