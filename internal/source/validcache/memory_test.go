package validcache

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/schema"
)

func service(t *testing.T, s *schema.Schema) *schema.Object {
	t.Helper()
	o, found := s.Check(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}, schema.Options{})
	if len(found) > 0 {
		t.Fatal(found)
	}
	return o
}

// Another program may make other objects of a text. What is valid stays so.
func TestAnotherProgram(t *testing.T) {
	s := schema.New(kinds.NewCatalog())
	text := []byte(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}`)
	o := service(t, s)
	dir := filepath.Join(t.TempDir(), "cache")
	own := New(dir, "here", s)
	if err := own.SaveEntries([]Entry{{DigestOf(text), o}, {DigestOf(text), o}}); err != nil {
		t.Fatal(err)
	}
	again, other, elsewhere := New(dir, "here", s), New(dir, "here", s), New(dir, "there", s)
	other.program = strings.Repeat("0", len(other.program))
	var pool schema.Pool
	for _, c := range []struct {
		m            *Cache
		valid, holds bool
	}{{again, true, true}, {other, true, false}, {elsewhere, false, false}} {
		if err := c.m.Load(); err != nil {
			t.Fatal(err)
		}
		read, holds := c.m.LoadObject(&pool, DigestOf(text))
		if c.m.IsValid(DigestOf(text)) != c.valid || holds != c.holds || c.m.IsValid(OtherDigestOf(text)) {
			t.Errorf("valid is %v, want %v; it holds an object: %v, want %v", c.m.IsValid(DigestOf(text)), c.valid, holds,
				c.holds)
		}
		if holds && read.Ref != o.Ref {
			t.Errorf("the object is %v", read.Ref)
		}
	}
	before, _ := os.ReadFile(own.Path())
	if err := other.SaveEntries([]Entry{{DigestOf(text), o}}); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(own.Path()); bytes.Equal(before, after) {
		t.Error("the other program did not write its own")
	}
}

// A damaged memory is refused or holds what it says, and never panics.
func FuzzMemory(f *testing.F) {
	d := DigestOf([]byte("a"))
	for _, records := range []string{"", string(d[:]) + "\x02ab", string(d[:]) + "\x00" + string(d[:]) + "\x01"} {
		f.Add([]byte(fileMagic + "xy" + records))
		f.Add([]byte(fileMagic + "xz" + records))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		m := &Cache{rules: "x", program: "y"}
		m.parseFile(append(body, sum[:]...))
		size := len(m.digests) * len(Digest{})
		for i, d := range m.digests {
			if !m.IsValid(d) || m.objects != nil && !bytes.Equal(m.storedObject(d), m.objects[i]) {
				t.Fatalf("%x is not found", d)
			}
			size += len(m.storedObject(d))
		}
		if size > len(body) {
			t.Fatal("more than it can hold")
		}
	})
}

// TestPlacesAreBounded: the files of places that were written longest ago go, and no other file of the folder does.
func TestPlacesAreBounded(t *testing.T) {
	s := schema.New(kinds.NewCatalog())
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := range maxFiles + 3 {
		m := New(dir, fmt.Sprint(i), s)
		if err := m.SaveEntries([]Entry{{DigestOf([]byte{byte(i)}), service(t, s)}}); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, m.Path())
		then := time.Unix(int64(i), 0)
		if err := os.Chtimes(m.Path(), then, then); err != nil {
			t.Fatal(err)
		}
	}
	if err := New(dir, "last", s).SaveEntries([]Entry{{DigestOf([]byte("last")), service(t, s)}}); err != nil {
		t.Fatal(err)
	}
	for i, path := range append(paths, other) {
		_, err := os.Stat(path)
		if gone := err != nil; gone != (i < 4) {
			t.Errorf("file %d: gone is %v", i, gone)
		}
	}
}
