package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// notSimulated lists, for each file of testdata, what of its calls can't be simulated.
const notSimulated = "testdata/not-simulated.txt"

// checkOpen compares what is not simulated with the list. Files that did not run are left as they are.
func (c *Comparison) checkOpen(t *testing.T) {
	text, err := os.ReadFile(notSimulated)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var want []string
	got := []string{}
	for line := range strings.Lines(string(text)) {
		file, _, _ := strings.Cut(line, ": ")
		if want = append(want, line); c.open[file] == nil {
			got = append(got, line)
		}
	}
	for file, names := range c.open {
		for name := range names {
			got = append(got, fmt.Sprintf("%s: not simulated: %s\n", file, name))
		}
	}
	slices.Sort(got)
	switch {
	case slices.Equal(got, want):
	case *update:
		if err := os.WriteFile(notSimulated, []byte(strings.Join(got, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is\n%s\nwant\n%s", notSimulated, strings.Join(want, ""), strings.Join(got, ""))
	}
}
