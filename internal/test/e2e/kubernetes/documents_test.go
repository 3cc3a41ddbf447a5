package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// A document's console blocks are commands, each after "$ ", and what they print. "..." stands for anything.
var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// export is a line that sets a variable of the shell for the lines after it.
var export = regexp.MustCompile(`^export ([A-Z_]+)=`)

// shell runs commands as the documents have them: in the repository, with kubectl, in the stage's namespace.
type shell struct {
	*stage
	root string
	env  []string
}

func newShell(s *stage) shell {
	s.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		if os.Getenv("CI") != "" {
			s.Fatal(err)
		}
		s.Skip(err)
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		s.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(s.Kubeconfig)
	if err != nil {
		s.Fatal(err)
	}
	for _, context := range config.Contexts {
		context.Namespace = s.namespace
	}
	file := filepath.Join(s.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		s.Fatal(err)
	}
	return shell{s, root, append(os.Environ(), "KUBECONFIG="+file, "HOME="+filepath.Dir(file),
		"PATH="+shared.dir+":"+os.Getenv("PATH"))} // Cardea is in that folder
}

// run runs a line. The tests are in the cluster's network already, and have built Cardea elsewhere.
func (s shell) run(line string) (out string, err error) {
	for is, here := range map[string]string{
		"bin/testcluster exec -- ": "", "bin/cardea ": filepath.Join(shared.dir, "cardea") + " ",
		".default.svc": "." + s.namespace + ".svc",
	} {
		line = strings.ReplaceAll(line, is, here)
	}
	ctx, cancel := context.WithTimeout(s.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.WaitDelay = time.Second
	cmd.Dir, cmd.Env = s.root, s.env
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// blocks are the console blocks of a section of a document; "" is what stands before the first one.
func (s shell) blocks(document, section string) (blocks []string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.root, document))
	if err != nil {
		s.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(text), "\n## ") {
		if title, _, _ := strings.Cut(part, "\n"); title == section {
			for _, block := range consoleBlock.FindAllStringSubmatch(part, -1) {
				blocks = append(blocks, block[1])
			}
		}
	}
	if len(blocks) == 0 {
		s.Fatalf("%s, %q: no commands", document, section)
	}
	return blocks
}

// play runs a block. What only looks may look again: a Service's address is there a moment before it answers.
func (s *shell) play(block string) {
	s.Helper()
	for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
		line, want, _ := strings.Cut(step, "\n")
		s.step("$ %s", line)
		if name := export.FindStringSubmatch(line); name != nil {
			value, err := s.run(line + `; printf %s "$` + name[1] + `"`)
			if err != nil {
				s.Fatalf("$ %s\n%s%v", line, value, err)
			}
			s.env = append(s.env, name[1]+"="+value)
			continue
		}
		looks := strings.Contains(line, "curl") || strings.Contains(line, " get ") || strings.Contains(line, " status ")
		s.until("$ "+line, func() (string, bool) {
			got, err := s.run(line)
			if failed, is := errors.AsType[*exec.ExitError](err); is && strings.Contains(want, "[exit ") {
				got, err = fmt.Sprintf("%s[exit %d]\n", got, failed.ExitCode()), nil
			}
			ok := err == nil && matches(got, want)
			if !ok && !looks {
				s.Fatalf("$ %s\n%s%v\nwant:\n%s", line, got, err, want)
			}
			return got, ok
		})
	}
}

// matches compares without regard to how columns are padded.
func matches(got, want string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(squeeze(want)), `\.\.\.`, `(?s:.*)`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(squeeze(got))
}

func squeeze(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// TestDocuments runs the commands of the documents that a new user reads first.
func TestDocuments(t *testing.T) {
	s := newShell(newStage(t))
	for _, d := range []struct{ document, section string }{
		{"docs/testcluster.md", ""},
		{"docs/kubernetes.md", "Install"},
		{"docs/kubernetes.md", "Health, metrics and the admin API"},
	} {
		for _, block := range s.blocks(d.document, d.section) {
			s.play(block)
		}
	}
}
