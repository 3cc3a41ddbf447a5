package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("there"), nil, 0o600), os.Mkdir(at("folder"), 0o700), os.Symlink("there", at("link")),
		unix.Mkfifo(at("pipe"), 0o600), unix.Mkfifo(at("read"), 0o600), os.WriteFile(at("other"), nil, 0o400),
		os.Mkdir(at("closed"), 0o500),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	reader, err := os.OpenFile(at("read"), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	root := os.Geteuid() == 0 // who may write everything
	for name, want := range map[string]string{
		at("there"): "", at("new"): "", at("link"): "", at("read"): "", "/dev/null": "", "/dev/stdout": "",
		at("folder"): "is a folder", at("no/new"): "/no does not exist; make it", at("there/new"): "can't be reached: not a",
		at("pipe"): "no process reads the pipe", at("other"): "can't be written to: permission denied",
		at("closed/new"): "no file can be created in folder " + at("closed"),
	} {
		got := WriteProblem(name)
		if root && strings.Contains(name, "other") || root && strings.Contains(name, "closed") {
			want = ""
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := os.Stat(at("new")); err == nil {
		t.Error("a file was made")
	}
}
