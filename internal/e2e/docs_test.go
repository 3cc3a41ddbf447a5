package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/standalone"
)

// documents are those whose commands are run: every line "$ cardea ..." of a console block, which must print what
// follows it. "..." stands for anything, on a line of its own for any number of lines. What is below the heading "In a
// cluster" is run there (internal/e2e/kubernetes).
var documents = []string{"docs/standalone.md", "docs/explain.md", "docs/diff.md", "docs/configmap.md", "README.md"}

func TestDocuments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	binary := Build(t)
	// The documents show this address, which is everybody's; the port that is bound they do not show, so it is one that is
	// free now.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	p := Start(t, filepath.Join(root, "examples/quickstart"), func(o *standalone.Options) {
		o.Bind, o.PortOffset = []string{"127.0.0.1"}, free.Addr().(*net.TCPAddr).Port-8080
	})
	p.Ready(t)
	for _, document := range documents {
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		here := inACluster.ReplaceAllString(string(text), "")
		ran := 0
		for _, block := range consoleBlock.FindAllStringSubmatch(here, -1) {
			for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
				command, want, _ := strings.Cut(step, "\n")
				cmd := exec.Command(binary, strings.Fields(command)[1:]...)
				cmd.Dir, cmd.Env = root, append(os.Environ(), "CARDEA_SERVER="+p.Admin)
				got, err := cmd.CombinedOutput()
				if err != nil {
					got = fmt.Appendf(got, "[exit %d]\n", cmd.ProcessState.ExitCode())
				}
				if !matches(string(got), want) {
					t.Errorf("%s: $ %s\n%s\nwant:\n%s", document, command, got, want)
				}
				ran++
			}
		}
		if ran == 0 {
			t.Errorf("%s has no commands", document)
		}
	}
}

// inACluster is a section: its heading, and all lines up to the next one.
var inACluster = regexp.MustCompile("(?m)^## In a cluster\n(?:[^#\n].*\n|\n)*")

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// matches compares output with what a document says, without regard to how columns are padded.
func matches(got, want string) bool {
	pattern := regexp.QuoteMeta(squeeze(want))
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `(?s:.*)`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(squeeze(got))
}

var spaces = regexp.MustCompile(`[ \t]+`)

func squeeze(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(spaces.ReplaceAllString(line, " "))
	}
	return strings.Join(lines, "\n")
}

// TestReadme serves the gateway that the README shows.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("the README shows no objects")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), block[1], 0o644); err != nil {
		t.Fatal(err)
	}
	if got := findingsOf(t, dir); got != "no findings\n" {
		t.Errorf("findings of the README's gateway: %s", got)
	}
}
