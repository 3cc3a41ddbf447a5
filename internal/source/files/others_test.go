package files

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file with an object that is not read because of its name is told once.
func TestFilesOfOtherNames(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		told bool
	}{
		"pol.ymal": {overTLS("a", "web"), true}, "pol.jsn": {`{"apiVersion": "v1", "kind": "Service"}`, true},
		"pol.yaml.txt": {overTLS("a", "web"), true}, "pol": {overTLS("a", "web"), true},
		"sub/pol.ymal": {overTLS("a", "web"), true}, "notes.txt": {"see apiVersion: v1", false},
		".pol.ymal": {overTLS("a", "web"), false}, "pol.yaml~": {overTLS("a", "web"), false},
		"pol.yaml.disabled": {overTLS("a", "web"), false}, "README.md": {overTLS("a", "web"), false},
		"big.txt": {overTLS("a", "web") + strings.Repeat("# a\n", maxOtherSize/4), false}, "empty": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStill(t)
			s.write("z.yaml", service("web"))
			s.must(os.MkdirAll(filepath.Join(s.dir, filepath.Dir(name)), 0o700))
			s.write(name, c.text)
			for range 3 {
				s.later()
			}
			want := name + ": the file is not read: its name must end in .yaml, .yml or .json"
			list := s.folder.Problems()
			if (len(list) == 1 && list[0].String() == want) != c.told || len(list) > 1 {
				t.Errorf("told: %v", list)
			}
			if len(s.told) != len(list) {
				t.Errorf("told more than once: %v", s.told)
			}
			s.must(os.Remove(filepath.Join(s.dir, name)))
			s.later()
			if list := s.folder.Problems(); len(list) > 0 {
				t.Errorf("told of a file that is gone: %v", list)
			}
		})
	}
	t.Run("a link", func(t *testing.T) { // as in the folder of a ConfigMap
		s := newStill(t)
		s.write("z.yaml", service("web"))
		s.write("..data", overTLS("a", "web"))
		s.must(os.Symlink("..data", filepath.Join(s.dir, "pol.ymal")))
		s.later()
		if list := s.folder.Problems(); len(list) != 1 || list[0].File != "pol.ymal" {
			t.Errorf("told: %v", list)
		}
	})
}

// When what protects leaves the folder, a log line names it and its file.
func TestRemovedPolicyIsLogged(t *testing.T) {
	s := newStill(t)
	var log bytes.Buffer
	s.folder.log = slog.New(slog.NewTextHandler(&log, nil))
	s.write("z.yaml", service("web")+route("web", "one"))
	s.write("a.yaml", overTLS("a", "web"))
	s.later()
	s.must(os.Rename(filepath.Join(s.dir, "a.yaml"), filepath.Join(s.dir, "b.yaml")))
	s.later()
	s.later()
	if strings.Contains(log.String(), "policy removed") {
		t.Errorf("a policy that moved is said to be removed:\n%s", &log)
	}
	s.must(os.Rename(filepath.Join(s.dir, "b.yaml"), filepath.Join(s.dir, "b.yml.disabled")))
	s.must(os.Remove(filepath.Join(s.dir, "z.yaml")))
	s.write("y.yaml", service("other"))
	s.later()
	s.later()
	const want = `level=WARN msg="policy removed" object="BackendTLSPolicy shop/a" file=b.yaml`
	if strings.Count(log.String(), "policy removed") != 1 || !strings.Contains(log.String(), want) {
		t.Errorf("want %s, got\n%s", want, &log)
	}
}
