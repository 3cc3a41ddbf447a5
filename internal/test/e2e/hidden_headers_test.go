package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestHeadersOfSecretsAreHidden: what is printed of a configuration has no value of a Secret in it.
func TestHeadersOfSecretsAreHidden(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "policies-headers.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFolder(t, dir, archive)
	printed := ConfigOf(t, dir)
	for text, want := range map[string]bool{"s3cr": false, "[redacted]": true, "x-key": true} {
		if strings.Contains(printed, text) != want {
			t.Errorf("that %q is in the configuration is not %v", text, want)
		}
	}
}
