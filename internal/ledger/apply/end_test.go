package apply

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
)

// TestRunEndsWhole: when its context ends, nothing of a worker goes on. Connections are kept for the next one, and the
// ledger looks out for changes until it is closed.
func TestRunEndsWhole(t *testing.T) {
	s := newStage(t)
	var stop func()
	// Goroutines inherit the label of the one that started them.
	pprof.Do(t.Context(), pprof.Labels("worker", s.namespace), func(context.Context) { stop = s.run() })
	for _, text := range []string{configText, routeText, deploymentText} {
		s.put(text)
		s.synced(s.edit(text).Key)
	}
	stop()
	s.eventually(func() error {
		var profile bytes.Buffer
		s.must(pprof.Lookup("goroutine").WriteTo(&profile, 1))
		for _, stack := range strings.Split(profile.String(), "\n\n") {
			others := slices.ContainsFunc([]string{"readLoop", "writeLoop", "fsnotify", "ledger/store."},
				func(of string) bool { return strings.Contains(stack, of) })
			if strings.Contains(stack, fmt.Sprintf("%q:%q", "worker", s.namespace)) && !others {
				return fmt.Errorf("a goroutine is left:\n%s", stack)
			}
		}
		return nil
	})
}
