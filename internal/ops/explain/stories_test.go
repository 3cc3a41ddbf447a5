package explain_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/cli"
	"cardea.dev/cardea/internal/test/e2e"
)

// newProgram makes a program with the commands that read a folder and start nothing. It reads each folder once.
func newProgram(t *testing.T) cli.Program {
	extensions, err := world.ExtensionsOf(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]admin.Explainer{}
	return cli.Program{
		Catalog: world.NewCatalog(extensions...), Extensions: extensions, Dialects: dataplanes.All(),
		Explainer: func(ctx context.Context, o standalone.Options) (e admin.Explainer, err error) {
			folder := fmt.Sprintf("%s at +%d", o.Dir, o.PortOffset)
			if read[folder] == nil {
				read[folder], err = standalone.NewExplainer(ctx, o)
			}
			return read[folder], err
		},
	}
}

// TestStories runs every txtar file of testdata: files of objects, then sections that are called "explain ..." and hold
// what that command prints of the folder. "..." stands for anything.
func TestStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	p := newProgram(t)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, f := range archive.Files {
				if !strings.HasPrefix(f.Name, "explain ") {
					if err := os.WriteFile(filepath.Join(dir, f.Name), e2e.WithCertificates(f.Data), 0o644); err != nil {
						t.Fatal(err)
					}
					continue
				}
				var got strings.Builder
				if cli.Main(t.Context(), append(strings.Fields(f.Name), "--dir", dir), p, &got, &got) != 0 {
					got.WriteString("[exit 1]\n")
				}
				if !e2e.Matches(got.String(), string(f.Data)) {
					t.Errorf("$ cardea %s\n%s\nwant:\n%s", f.Name, got.String(), f.Data)
				}
			}
		})
	}
}
