package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOrder: what policies come to depends on them alone, in every file that has some.
func TestOrder(t *testing.T) {
	for _, path := range testdata(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			Own().Order(t, path)
		})
	}
}
