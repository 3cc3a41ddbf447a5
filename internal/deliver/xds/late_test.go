package xds

import (
	"strings"
	"testing"
)

// A proxy that asks for a trial's table at the very moment at which it is not waited for any more is sent what is
// tried.
func TestATrialsTableAskedForInTheEnd(t *testing.T) {
	c := newCore()
	run := func(command string) string { return c.run(t, strings.Split(command, "\n")) }
	for _, command := range []string{
		"turn\nListener l=1 needs=Routes/t\nRoutes t=1 parts=h1:1,h2:1", "connect p", "p asks Cluster", "p asks Listener",
		"p asks Routes t",
		"p acks 1 2 3",
		"turn\nRoutes t=2 parts=h1:2,h2:2", "p nacks 4 bad", "p acks 5",
	} {
		run(command)
	}
	c.now = c.now.Add(trialTimeout)
	if got := run("p asks Routes trial/1000001"); !strings.Contains(got, "(h1.2)") {
		t.Errorf("it was sent\n%s", got)
	}
}
