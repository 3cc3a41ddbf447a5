package flow_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

type plain struct {
	Name   string
	Filter []byte
}

type says []byte

func (says) MarshalText() ([]byte, error) { return []byte("hidden"), nil }

type odd struct {
	Filter says
	By     map[odds]string // which JSON can't have
}

type odds struct{ A, B string }

// TestPlainBytesAreRefused: a collection whose dump would show bytes is not made, wherever in a value they are.
func TestPlainBytesAreRefused(t *testing.T) {
	refused := func(name string, make func(g *flow.Graph), want string) {
		t.Helper()
		defer func() {
			text := fmt.Sprint(recover())
			if want == "" && text != "<nil>" || !strings.Contains(text, want) {
				t.Errorf("%s: %s, want %q", name, text, want)
			}
		}()
		make(flow.New(flow.Config{Check: true}))
	}
	refused("a field", func(g *flow.Graph) { flow.NewSource[string, plain](g, "a") },
		"plain.Filter: []uint8 is plain bytes")
	refused("a pointer", func(g *flow.Graph) { flow.NewSource[string, *plain](g, "a") }, "plain.Filter")
	refused("a map", func(g *flow.Graph) { flow.NewSource[string, map[string][][]byte](g, "a") }, "[][]")
	refused("an array", func(g *flow.Graph) { flow.NewSource[string, [4]byte](g, "a") }, "plain bytes")
	refused("a type that says how", func(g *flow.Graph) { flow.NewSource[string, []says](g, "a") }, "")
	refused("texts", func(g *flow.Graph) { flow.NewSource[string, []string](g, "a") }, "")
}

// TestDumpOfWhatHasNoJSON: nothing of the value is printed.
func TestDumpOfWhatHasNoJSON(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	s := flow.NewSource[string, odd](g, "odd")
	g.Apply("load", func(b *flow.Batch) {
		s.Set(b, "a", odd{says("s3cret"), map[odds]string{{"a", "b"}: "s3cret"}})
		s.MarkSynced(b)
	})
	g.Settle()
	var text bytes.Buffer
	if err := g.Dump(&text, "odd"); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Contains(got, "s3cret") || !strings.Contains(got, "can't be shown") {
		t.Errorf("%s", got)
	}
}
