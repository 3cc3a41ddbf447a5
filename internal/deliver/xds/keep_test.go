package xds

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A virtual host that moves with its listener's hostname comes back with a rule that was refused: its substitute
// stands, not what was kept.
func TestAMovedHostComesBackAsASubstitute(t *testing.T) {
	c := newCore()
	for _, lines := range []string{
		"turn\nListener l=1 parts=e:1,h1@a^t:1 binds=:80\nRoutes t=1 parts=ha:r.1,hz:r.1",
		"connect p", "p asks Cluster", "p asks Listener", "p asks Routes t", "p acks 1 2 3",
		"turn\nListener l=2 parts=e:1,h1@b^t:2 binds=:80\nRoutes t=2 parts=hz:r.1",
	} {
		c.run(t, strings.Split(lines, "\n"))
	}
	table := c.set.lookup(storyTable)
	ids := func() (list []string) {
		for _, p := range table.offer.parts() {
			list = append(list, fmt.Sprint(p.ID, isSubstitute(p)))
		}
		return list
	}
	if got := ids(); !slices.Equal(got, []string{"false", "hafalse", "hzfalse"}) {
		t.Fatalf("offered are %q, want the host of the former hostname, too", got)
	}
	c.run(t, strings.Split("turn\nRoutes t=3 parts=ha:r.!1,hz:r.!1", "\n"))
	if got := ids(); !slices.Equal(got, []string{"false", "hatrue", "hztrue"}) {
		t.Errorf("offered are %q, want the substitutes", got)
	}
}

// What changes again and again while no proxy is there to acknowledge it is remembered once.
func TestUntoldPartsAreFew(t *testing.T) {
	c := newCore()
	for i := range 1000 {
		c.run(t, strings.Split(fmt.Sprintf("turn\nRoutes t=%d parts=a%d:%d,h:%d", i, i, i, i), "\n"))
	}
	if n := len(c.set.lookup(storyTable).unreported); n > 100 {
		t.Errorf("%d parts of 3 are remembered", n)
	}
}
