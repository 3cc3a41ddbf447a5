// Package extendtest tests features and kinds of policies in their own repository, the way that Cardea tests its own:
//
//	func TestPlugins(t *testing.T) { extendtest.Run(t, "testdata/*.txtar", signing.Plugins()...) }
//
// The files are behaviour files: objects, and what must come of them.
//
//	-- objects.yaml --  a file of the folder that is served; ${blue} is the port of a backend named blue
//	-- findings --      what `cardea check` prints
//	-- status --        the conditions of all objects
//	-- calls --         GET http://shop.example/ -> 200 blue header.x-signature=0123
//
// Calls are made through a real Envoy, with a real Cardea that has the plugins. Envoy is found at $CARDEA_ENVOY, in the
// PATH, or where Cardea's hack/get-envoy.sh puts it. Each file must hold without help of another.
//
// The package is the public face of Cardea's own suite (internal/test/e2e), and owns nothing of it. Only tests import
// it. Start reading at Run.
package extendtest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/test/e2e"
)

var update = flag.Bool("extendtest.update", false, "rewrite findings and status in behaviour files; inspect the diff")

// Run tests plugins, which a program has beside Cardea's own features:
//
//   - behaviour: what each file says holds. Its calls are made through a real Envoy, and where the features have a
//     Judge, the simulation must agree. Without an Envoy they are skipped, but if $CI is set, that is an error.
//   - fields: the files state each field of the plugins' features, and with another value something else would be
//     rendered, or refused.
//   - order: neither the order in which objects are made, nor edits that are taken back, change what comes of them;
//     without the policies all is as if they had never been.
//
// files is a pattern (path/filepath.Match). Expectations are rewritten with -extendtest.update.
func Run(t *testing.T, files string, plugins ...extend.Plugin) {
	t.Helper()
	paths, err := filepath.Glob(files)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no behaviour file matches %q (%v)", files, err)
	}
	program, err := e2e.Plug(append(builtin.Plugins(), plugins...))
	if err != nil {
		t.Fatalf("the plugins don't fit together: %v", err)
	}
	t.Run("behaviour", func(t *testing.T) {
		var calls *e2e.Comparison
		if hasEnvoy(t) {
			calls = e2e.NewComparison(t)
		}
		each(t, paths, func(t *testing.T, path string) { program.Behaviour(t, path, calls, *update) })
	})
	t.Run("fields", func(t *testing.T) {
		var features []*extend.UntypedFeature
		for _, p := range plugins {
			if p.Feature != nil {
				features = append(features, p.Feature)
			}
		}
		program.Leaves(t, paths, features)
	})
	t.Run("order", func(t *testing.T) { each(t, paths, program.Order) })
}

// each tests every file at the same time.
func each(t *testing.T, paths []string, test func(*testing.T, string)) {
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			test(t, path)
		})
	}
}

// hasEnvoy tells whether calls can be made. If not, the test that says so is skipped, or fails.
func hasEnvoy(t *testing.T) (has bool) {
	_, err := process.FindPath(dataplanes.All()[0].Child.Program)
	switch {
	case err == nil:
		return true
	case errors.Is(err, process.ErrNotFound) && os.Getenv("CI") == "":
		t.Run("calls", func(t *testing.T) { t.Skipf("no calls are made: %v", err) })
	default:
		t.Errorf("no calls can be made: %v", err)
	}
	return false
}
