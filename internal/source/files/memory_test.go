package files

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runs is what happens to one folder from run to run.
type runs struct {
	*testing.T
	dir, cache string
}

func newRuns(t *testing.T) runs { return runs{t, t.TempDir(), filepath.Join(t.TempDir(), "cache")} }

// load is one run: what it holds and finds wrong.
func (r runs) load() (string, *Folder) {
	r.Helper()
	rig := newRig(r, r.dir, r.cache)
	if err := rig.folder.Load(); err != nil {
		r.Fatal(err)
	}
	rig.graph.Settle()
	return rig.objects() + fmt.Sprint(rig.folder.Problems()), rig.folder
}

func (r runs) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// What a run made of a text, the next one need not make again; without that memory it only works more.
func TestMemory(t *testing.T) {
	r := newRuns(t)
	r.write("web.yaml", route("web", "one")+service("a")+slice("a"))
	r.write("bad.yaml", strings.Replace(route("bad", "one"), "8080", "99999", 1))
	r.write("list.yaml", `{kind: ServiceList, apiVersion: v1, items: [
  {metadata: {name: b, uid: u, generation: 7, creationTimestamp: "2020-02-02T02:02:02Z"},
   spec: {ports: [{port: 80}]}}]}`)
	first, _ := r.load()
	second, f := r.load()
	if first != second {
		t.Errorf("first run:\n%s\nsecond run:\n%s", first, second)
	}
	if s := f.Stats(); s.Parsed != 2 || s.Checked != 1 {
		t.Errorf("the second run parsed %d documents (expected the bad one and the List) and checked %d objects", s.Parsed,
			s.Checked)
	}
	if valid, held := f.cache.Size(); valid != 4 || held != 0 {
		t.Errorf("%d objects are remembered, expected the valid ones; in memory: %d", valid, held)
	}
	whole, err := os.ReadFile(f.cache.Path())
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"cut": whole[:len(whole)-1],
		"flipped": append(bytes.Clone(whole[:len(whole)-40]),
			append([]byte{whole[len(whole)-40] ^ 1}, whole[len(whole)-39:]...)...),
		"empty": nil,
	} {
		if err := os.WriteFile(f.cache.Path(), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, f := r.load()
		if got != first || f.Stats().Parsed != 5 {
			t.Errorf("with a %s memory %d documents were parsed: %s", name, f.Stats().Parsed, got)
		}
		if mended, _ := os.ReadFile(f.cache.Path()); !bytes.Equal(mended, whole) {
			t.Errorf("a %s memory was not mended", name)
		}
	}
}

// Another program may make other objects of a text. What is valid stays so.
func TestMemoryOfAnotherProgram(t *testing.T) {
	r := newRuns(t)
	r.write("web.yaml", route("web", "one"))
	first, f := r.load()
	own, _ := os.ReadFile(f.cache.Path())
	foreign := bytes.Clone(own[:len(own)-sha256.Size])
	at := bytes.IndexByte(foreign, '\n') + 1 + len(one().Fingerprint()) // where the program is named
	copy(foreign[at:], strings.Repeat("0", 32))
	sum := sha256.Sum256(foreign)
	if err := os.WriteFile(f.cache.Path(), append(foreign, sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	second, f := r.load()
	if first != second || f.Stats().Parsed != 1 {
		t.Errorf("with the memory of another program %d documents were parsed:\n%s", f.Stats().Parsed, second)
	}
	if text, _ := os.ReadFile(f.cache.Path()); !bytes.Equal(text, own) {
		t.Error("the memory of another program stayed")
	}
}

// What others may have written is not believed, and what is secret is not written.
func TestMemoryIsPrivate(t *testing.T) {
	r := newRuns(t)
	r.write("web.yaml", route("web", "one"))
	r.write("secret.yaml", secret("s")+"stringData: {key: xyzzy-plugh}\ndata: {other: eHl6enkgcGx1Z2g=}\n")
	_, f := r.load()
	text, err := os.ReadFile(f.cache.Path())
	info, statErr := os.Stat(f.cache.Path())
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(err, statErr, info.Mode())
	}
	for _, content := range []string{"plugh", "eHl6enk"} {
		if bytes.Contains(text, []byte(content)) {
			t.Errorf("a Secret's content is in the memory")
		}
	}
	if _, f := r.load(); f.Stats().Parsed != 1 {
		t.Errorf("%d documents were parsed, expected the Secret", f.Stats().Parsed)
	}
	if err := os.Chmod(f.cache.Path(), 0o620); err != nil {
		t.Fatal(err)
	}
	if _, f := r.load(); f.Stats().Parsed != 2 {
		t.Errorf("%d documents were parsed: a file that others may write was believed", f.Stats().Parsed)
	}
}

// The same text may be an object in YAML and a mistake in JSON.
func TestMemoryKnowsTheLanguage(t *testing.T) {
	const service = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
		"spec": {"ports": [{"port": 80.0}]}}`
	for what, text := range map[string]string{"alone": service,
		"in a List": `{"apiVersion": "v1", "kind": "List", "items": [` + service + `]}`} {
		t.Run(what, func(t *testing.T) {
			r := newRuns(t)
			r.write("a.yaml", text)
			if _, f := r.load(); len(f.Problems()) > 0 {
				t.Fatal(f.Problems())
			}
			if err := os.Rename(filepath.Join(r.dir, "a.yaml"), filepath.Join(r.dir, "a.json")); err != nil {
				t.Fatal(err)
			}
			if _, f := r.load(); len(f.Problems()) != 1 {
				t.Error("80.0 was taken for an integer, as it was in YAML")
			}
		})
	}
}
