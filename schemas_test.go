package cardea

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchemas: each schema that is committed is that of its feature's type. The generator runs once for all features of
// which go generate writes one, and once more for each that names another type or file.
func TestSchemas(t *testing.T) {
	const generator = "//go:generate go run -C "
	dirs := map[string][]string{"": {"testdata/sample"}} // by flags
	visit(t, func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			dir, flags, found := strings.Cut(strings.TrimSpace(line), "extend/schemagen . ")
			if !found || !strings.HasPrefix(dir, generator) {
				continue
			}
			flags, found = strings.CutSuffix(flags, "$PWD")
			if !found {
				t.Errorf("%s: the last argument of schemagen must be $PWD, the package's folder", path)
				continue
			}
			pkg, err := filepath.Abs(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			dirs[flags] = append(dirs[flags], pkg)
		}
	})
	for flags, list := range dirs {
		args := append([]string{"run", "-C", "extend/schemagen", ".", "-check"}, strings.Fields(flags)...)
		if out, err := exec.Command("go", append(args, list...)...).CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
	}
}
