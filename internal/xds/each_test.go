package xds

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/resource"
)

// TestEachProxy: of two proxies one has acknowledged a newer table, and the other one something that it was not sent yet.
func TestEachProxy(t *testing.T) {
	c := newCore()
	for _, command := range []string{
		"turn\n  Listener l=1 needs=Routes/t binds=:80\n  Routes t=1", "connect p", "connect q",
		"p asks Cluster", "p asks Listener", "p asks Routes t", "p acks 1 2 3",
		"q asks Cluster", "q asks Listener", "q asks Routes t", "q acks 1 2 3",
		"turn\n  Routes t=2", "p acks 4",
	} {
		c.run(t, strings.Split(command, "\n"))
	}
	f := &fleet{gateway: gateway, set: c.set}
	p, q := resource.Proxy{Node: "p", Version: "1.40.0"}, resource.Proxy{Node: "q", Version: "1.40.0"}
	if got, want := f.behind(), map[resource.Proxy]int{p: 0, q: 1}; !maps.Equal(got, want) {
		t.Errorf("behind: %v, want %v", got, want)
	}
	p.Acknowledged = true
	if got, want := f.each(resource.Name{Type: resource.Routes, Name: "t"}), []resource.Proxy{p, q}; !slices.Equal(got, want) {
		t.Errorf("of the table: %v, want %v", got, want)
	}
	q.Acknowledged = true
	if got, want := f.each(resource.Name{Type: resource.Listener, Name: "l"}), []resource.Proxy{p, q}; !slices.Equal(got, want) {
		t.Errorf("of the listener: %v, want %v", got, want)
	}
}
