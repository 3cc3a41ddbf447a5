package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
)

// TestOneFile serves a single file, whose neighbours are not read.
func TestOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := prepare(t, dir, "")
	all := func(service string) string {
		return gatewayFile(80) + "---\n" + routeFile("web", "shop.example", to(service)) + "---\n" +
			serviceFile("blue", "blue") + "---\n" + serviceFile("green", "green")
	}
	s.write("shop.yaml", all("blue"))
	s.write("broken.yaml", "no object at all")
	file := filepath.Join(dir, "shop.yaml")
	s.start(func(o *standalone.Options) { o.Dir = file })
	s.Dir = dir
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue")
	s.write("shop.yaml", all("green"))
	s.soon("GET http://shop.example/ -> 200 green")
	if problems := s.book.find("problem in the folder"); len(problems) > 0 {
		t.Errorf("a neighbour was read: %v", problems)
	}
	s.remove("shop.yaml")
	s.reads("problem in the folder", "the file does not exist", "stay in use")
	s.expect("GET http://shop.example/ -> 200 green")
	s.write("shop.yaml", all("blue"))
	s.soon("GET http://shop.example/ -> 200 blue")

	if got := e2e.FindingsOf(t, file); got != "no findings\n" {
		t.Errorf("check of one file: %s", got)
	}
	if got := e2e.ConfigOf(t, file); !strings.Contains(got, "gateway: shop/web\n") {
		t.Errorf("translate of one file:\n%s", got)
	}
}

// TestWhatIsNoFolder: what can't be read now and never will ends the command at once.
func TestWhatIsNoFolder(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "none")
	for command, want := range map[string]string{
		"standalone " + os.DevNull: os.DevNull + " is neither a folder nor a regular file",
		"check " + os.DevNull:      os.DevNull + " is neither a folder nor a regular file",
		"translate " + os.DevNull:  os.DevNull + " is neither a folder nor a regular file",
		"check " + missing:         "no such file or directory",
		"translate " + missing:     "no such file or directory",
	} {
		out, err := exec.Command(path, strings.Fields(command)...).CombinedOutput()
		code, failed := err.(*exec.ExitError)
		if !failed || code.ExitCode() != 1 || !strings.HasPrefix(string(out), "Error: ") ||
			!strings.Contains(string(out), want) {
			t.Errorf("cardea %s: %v: %s", command, err, out)
		}
	}
}
