package cardea

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecisions: docs/adr/README.md lists each decision with its title, in order.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("docs/adr/[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var want strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		fmt.Fprintf(&want, "- [%s](%s)\n", title, filepath.Base(file))
	}
	list, err := os.ReadFile("docs/adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(list), "\n\n"+want.String()) {
		t.Errorf("the list has to be\n%s", want.String())
	}
}
