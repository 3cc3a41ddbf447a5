package members_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cardea.dev/cardea/internal/epp/members"
	"cardea.dev/cardea/internal/epp/rewrite"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text, mistake string
		want          members.Pool
	}{
		"lines": {
			text: "10.0.0.1:8000 # the first\n\n[::1]:80\n10.0.0.1:8000\n[::ffff:10.0.0.2]:1",
			want: members.Pool{
				Members: []members.Member{{Address: "10.0.0.1:8000"}, {Address: "[::1]:80"}, {Address: "10.0.0.2:1"}},
			},
		},
		"JSON": {
			text: ` {"endpoints":[{"address":"10.0.0.1:8000","name":"a","zone":"z"}],"objectives":{"batch":-1}}`,
			want: members.Pool{
				Members:    []members.Member{{Address: "10.0.0.1:8000", Name: "a", Zone: "z"}},
				Objectives: map[string]int{"batch": -1},
			},
		},
		"rewrites": {
			text: `{"endpoints":[],"rewrites":[{"name":"r","rules":[{"models":["a"],"targets":[{"model":"b","weight":2}]}]}]}`,
			want: members.Pool{Members: []members.Member{}, Rewrites: rewrite.Rewrites{{Name: "r", Rules: []rewrite.Rule{
				{Models: []string{"a"}, Targets: []rewrite.Target{{Model: "b", Weight: 2}}},
			}}}},
		},
		"a rewrite to nothing": {
			text:    `{"endpoints":[],"rewrites":[{"name":"r","rules":[{"models":["a"]}]}]}`,
			mistake: "rewrite 1, rule 1: it has no targets",
		},
		"a weight of too much": {
			text:    `{"endpoints":[],"rewrites":[{"name":"r","rules":[{"targets":[{"model":"b","weight":1000001}]}]}]}`,
			mistake: "rewrite 1, rule 1: a target needs a model, and a weight of 1 to 1000000",
		},
		"empty":            {want: members.Pool{Members: []members.Member{}}},
		"a name":           {text: "10.0.0.1:80\nlocalhost:80", mistake: `endpoint 2: "localhost:80" is no address`},
		"no port":          {text: "10.0.0.1", mistake: "is no address"},
		"port 0":           {text: "10.0.0.1:0", mistake: "is no address"},
		"a zone":           {text: "[fe80::1%eth0]:80", mistake: "is no address"},
		"an unknown field": {text: `{"servers":[]}`, mistake: `unknown field "servers"`},
		"half of it":       {text: `{"endpoints":[`, mistake: "not the expected JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := members.ParsePool([]byte(c.text))
			if c.mistake != "" {
				if err == nil || !strings.Contains(err.Error(), c.mistake) {
					t.Errorf("error %v, want %q", err, c.mistake)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// TestFile: changes are followed, those by rename and by the swap of a link, too; a mistake changes nothing.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pool")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("pool", "10.0.0.1:1")
	ctx, cancel := context.WithCancel(t.Context())
	told, done := make(chan members.Pool), make(chan error, 1)
	log := &strings.Builder{}
	f := members.File{Path: path, Log: slog.New(slog.NewTextHandler(log, nil))}
	go func() { done <- f.Run(ctx, func(p members.Pool) { told <- p }) }()
	want := func(address string) {
		t.Helper()
		for p := range told { // a file may be seen when it is empty
			if len(p.Members) == 1 && p.Members[0].Address == address {
				return
			}
		}
	}
	want("10.0.0.1:1")
	write("pool", "10.0.0.1:2")
	want("10.0.0.1:2")
	write("next", "10.0.0.1:3")
	if err := os.Rename(filepath.Join(dir, "next"), path); err != nil {
		t.Fatal(err)
	}
	want("10.0.0.1:3")
	write("broken", "nothing")
	if err := os.Rename(filepath.Join(dir, "broken"), path); err != nil {
		t.Fatal(err)
	}
	write("data", "10.0.0.1:4")
	if err := os.Symlink("data", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "link"), path); err != nil {
		t.Fatal(err)
	}
	want("10.0.0.1:4")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFileAtFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pool")
	f := members.File{Path: path}
	if err := f.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "read the pool") {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), path+`: endpoint 1: "x"`) {
		t.Error(err)
	}
}
