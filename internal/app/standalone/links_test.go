package standalone

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksThatLeadNowhere: what a folder states is not known while a link of it leads nowhere, whatever its name: a
// diff takes nothing for deleted, and a check says it. A link to a file that is not read, and an editor's, hide
// nothing.
func TestLinksThatLeadNowhere(t *testing.T) {
	for link, want := range map[string]struct {
		to       string
		refused  bool
		severity string
	}{
		"shop.example": {"nothing", true, "warning"}, "conf.d": {"nothing", true, "warning"},
		"shop": {"nothing", true, "error"}, "web.yaml": {"nothing", true, "error"},
		"notes.txt": {"real.txt", false, ""}, ".#web.yaml": {"nothing", false, ""},
	} {
		t.Run(link, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"gw.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
				"real.txt": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(want.to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
			_, err := ListObjects(t.Context(), checked(dir))
			if (err != nil) != want.refused || err != nil && !strings.Contains(err.Error(), link) {
				t.Errorf("objects: %v", err)
			}
			var out strings.Builder
			n, err := Check(t.Context(), checked(dir), &out)
			if err != nil {
				t.Fatal(err)
			}
			line := want.severity + ": " + link + ": "
			if want.refused != strings.Contains(out.String(), line) || !want.refused && n > 0 {
				t.Errorf("%d findings, want %q:\n%s", n, line, out.String())
			}
		})
	}
}

func checked(dir string) Options {
	return Options{Dialects: dialects, Dir: dir, Bind: []string{"127.0.0.1"}}
}
