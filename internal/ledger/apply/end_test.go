package apply

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
)

// TestRunEndsWhole: when its context ends, nothing of a worker goes on but connections, which are kept for the next
// one.
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
			of := strings.Contains(stack, "ledger/apply.") || strings.Contains(stack, "k8s.io/client-go/")
			if of && strings.Contains(stack, fmt.Sprintf("%q:%q", "worker", s.namespace)) {
				return fmt.Errorf("a goroutine is left:\n%s", stack)
			}
		}
		return nil
	})
}
