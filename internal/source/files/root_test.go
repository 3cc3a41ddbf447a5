package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newSingle is a rig that serves one file, with a neighbour that it must not read.
func newSingle(t *testing.T, file string) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, dir: dir}
	r.write(file, route("web", "one"))
	r.write("neighbour.yaml", route("neighbour", "one"))
	single := newRig(t, filepath.Join(dir, file), "")
	single.dir = dir
	return single
}

func TestLoadsOneFile(t *testing.T) {
	for _, file := range []string{"web.yaml", "web.conf", ".web", "..web"} {
		r := newSingle(t, file)
		if err := r.folder.Load(); err != nil {
			t.Fatal(err)
		}
		r.graph.Settle()
		if r.backend("web") != "one" || r.backend("neighbour") != "" {
			t.Errorf("of %s was read:\n%s", file, r.objects())
		}
		if p := r.folder.Problems(); len(p) > 0 {
			t.Error(p)
		}
	}
}

// TestToldApartByText: JSON values may follow each other in a file whose name does not say what it is.
func TestToldApartByText(t *testing.T) {
	const namespace = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "%s"}}`
	text := fmt.Sprintf(namespace+"\n"+namespace, "a", "b")
	for file, want := range map[string]int64{"stdin": 2, "web.json": 2, "web.yaml": 1} {
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, path, "")
		if err := r.folder.Load(); err != nil {
			t.Fatal(err)
		}
		if got := r.folder.Stats().Parsed; got != want {
			t.Errorf("%s: %d documents, want %d", file, got, want)
		}
	}
}

// What is no file to be read is refused at once: nobody waits for a device to become a folder.
func TestNeitherFileNorFolder(t *testing.T) {
	_, err := New(Config{Dir: os.DevNull, Schema: one()})
	if err == nil || !strings.Contains(err.Error(), os.DevNull+" is neither a folder nor a regular file") {
		t.Error(err)
	}
}

func TestFollowsOneFile(t *testing.T) {
	r := newSingle(t, "web.conf")
	path := filepath.Join(r.dir, "web.conf")
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })
	r.write("web.conf", route("web", "two"))
	r.until("a write in place", func() bool { return r.backend("web") == "two" })
	r.write(".draft", route("web", "three"))
	r.must(os.Rename(filepath.Join(r.dir, ".draft"), path))
	r.until("an atomic save", func() bool { return r.backend("web") == "three" })
	r.write("other.yaml", route("other", "one"))
	r.write("sub/other.yaml", route("other", "one"))

	// It vanishes, as a folder may.
	r.must(os.Remove(path))
	r.until("the problem", func() bool {
		p := r.folder.Problems()
		return len(p) == 1 && strings.Contains(p[0].String(),
			"web.conf: the file does not exist; the objects last read from it stay in use")
	})
	if r.backend("web") != "three" {
		t.Error("a vanished file took its route along")
	}
	r.write("web.conf", route("web", "four"))
	r.until("its return", func() bool { return r.backend("web") == "four" && len(r.folder.Problems()) == 0 })

	// Emptied: it is about to be written.
	r.write("web.conf", "# nothing any more\n")
	r.until("the problem", func() bool {
		p := r.folder.Problems()
		return len(p) == 1 && strings.HasPrefix(p[0].String(), "web.conf: the file holds no object; the objects last read")
	})
	if r.backend("web") != "four" {
		t.Error("an emptied file took its route along")
	}
	r.write("web.conf", route("web", "five"))
	r.until("its content", func() bool { return r.backend("web") == "five" && len(r.folder.Problems()) == 0 })
	if r.backend("neighbour")+r.backend("other") != "" {
		t.Errorf("its neighbours were read:\n%s", r.objects())
	}
}

// A file that is a link changes where the link leads, as a mounted ConfigMap's does.
func TestFollowsOneLink(t *testing.T) {
	dir := t.TempDir()
	r := &rig{t: t, dir: dir}
	r.write("..one/web.yaml", route("web", "one"))
	r.must(os.Symlink("..one", filepath.Join(dir, "..data")))
	r.must(os.Symlink("..data/web.yaml", filepath.Join(dir, "web.yaml")))
	r = newRig(t, filepath.Join(dir, "web.yaml"), "")
	r.dir = dir
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })
	r.write("..one/web.yaml", route("web", "two"))
	r.until("a write of the target", func() bool { return r.backend("web") == "two" })
	r.write("..two/web.yaml", route("web", "three"))
	r.must(os.Symlink("..two", filepath.Join(dir, "..data_tmp")))
	r.must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	r.until("a swap", func() bool { return r.backend("web") == "three" })
}
