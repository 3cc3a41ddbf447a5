package standalone

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Names can hold anything: a finding is a line all the same, and nothing in it moves a terminal's cursor.
func TestCheckWritesALineForEachFinding(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\nfolder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "
	for name, text := range map[string]string{
		"a\nerror: b.yaml": "no object",
		"red\x1b[31m.yaml": object + "twice}\n",
		"x\xff.yaml":       object + "twice}\n",
		"plain name.yaml":  object + "\"a\\nb\\e[0m\"}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(dir string) (string, int, error) {
		var out strings.Builder
		n, err := Check(t.Context(), Options{Dialects: dialects, Dir: dir, Bind: []string{"127.0.0.1"}}, &out)
		return out.String(), n, err
	}
	out, n, err := check(dir)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != n || n != 3 {
		t.Errorf("%d lines for %d findings, want 3:\n%s", len(lines), n, out)
	}
	for _, want := range []string{
		`error: "a\nerror: b.yaml":1: must be an object`,
		`error: "x\xff.yaml":1: ConfigMap default/twice: is also declared in "red\x1b[31m.yaml"`,
		`error: plain name.yaml:3: ConfigMap default/a\nb\x1b[0m: metadata.name: `,
	} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("no line begins with %s:\n%s", want, out)
		}
	}
	_, _, err = check(dir + "-none")
	if err == nil || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), `a\nfolder-none": no such file`) {
		t.Errorf("an error on several lines: %v", err)
	}
}
