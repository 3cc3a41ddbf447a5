package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Document runs the commands of a document: every line "$ PROGRAM ..." of a console block, which must print what
// follows it. "..." stands for anything, on a line of its own for any number of lines. What is below the heading "In a
// cluster" is run there (internal/test/e2e/kubernetes). They run in a folder; programs are the files of programs by
// name.
func Document(t *testing.T, path, folder string, programs map[string]string, env ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range ConsoleBlock.FindAllStringSubmatch(inACluster.ReplaceAllString(string(text), ""), -1) {
		for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			words := wordsOf(command)
			cmd := exec.Command(programs[filepath.Base(words[0])], words[1:]...)
			cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
			got, err := cmd.CombinedOutput()
			if err != nil {
				got = fmt.Appendf(got, "[exit %d]\n", cmd.ProcessState.ExitCode())
			}
			if !Matches(string(got), want) {
				t.Errorf("%s: $ %s\n%s\nwant:\n%s", path, command, got, want)
			}
			ran++
		}
	}
	if ran == 0 {
		t.Errorf("%s has no commands", path)
	}
}

// wordsOf takes a command apart as a shell does; of its quotes there are single ones.
func wordsOf(command string) (words []string) {
	for _, word := range word.FindAllString(command, -1) {
		words = append(words, strings.ReplaceAll(word, "'", ""))
	}
	return words
}

var word = regexp.MustCompile(`(?:[^\s']|'[^']*')+`)

// inACluster is a section: its heading, and all lines up to the next one.
var inACluster = regexp.MustCompile("(?m)^## In a cluster\n(?:[^#\n].*\n|\n)*")

var ConsoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// matches compares output with what a document says, without regard to how columns are padded.
func Matches(got, want string) bool {
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
