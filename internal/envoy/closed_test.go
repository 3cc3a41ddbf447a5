package envoy

import (
	"slices"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

// TestClosedVirtualHosts: every virtual host that has rules can be closed. It keeps its name and its domains, which hold its
// requests back from wider ones, and real Envoy answers 500 to all of them.
func TestClosedVirtualHosts(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	hosts := []string{"*", "*.example", "shop.example",
		"a-host-whose-name-is-so-long-that-its-length-takes-two-bytes.with-many-labels.and-more-of-them.shop.example"}
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		for _, h := range hosts {
			w.serve(b, 1, 80, "http", h, forward("rule-"+h, prefix("/a")))
		}
	})
	state := w.resources()
	key := resource.Key{Gateway: testGateway, Type: resource.Routes, Name: "80/0"}
	table := state[key]
	open := virtualHosts(t, table)
	table.Parts = slices.Clone(table.Parts)
	for i, p := range table.Parts {
		if p.ID == "*" || len(p.Fragments) == 0 {
			continue
		}
		table.Parts[i] = table.Closing.Close(p)
		if table.Parts[i] == nil || table.Parts[i].ID != p.ID || table.Parts[i].Hash == p.Hash {
			t.Fatalf("%s closed is %+v", p.ID, table.Parts[i])
		}
	}
	closed := virtualHosts(t, table)
	if len(closed) != len(hosts) {
		t.Fatalf("%d virtual hosts, want %d", len(closed), len(hosts))
	}
	for i, h := range closed {
		if h.Name != open[i].Name || !slices.Equal(h.Domains, open[i].Domains) {
			t.Errorf("%s %q became %s %q", open[i].Name, open[i].Domains, h.Name, h.Domains)
		}
		if err := h.ValidateAll(); err != nil {
			t.Error(err)
		}
	}
	table.Version += "-closed"
	state[key] = table
	startProxy(t, state)
	for _, h := range hosts[1:] {
		host := h
		if h == "*.example" {
			host = "any.example"
		}
		for _, uri := range []string{"/a", "/"} {
			if got := (call{Host: host, URI: uri}).do(t, bind).Status; got != 500 {
				t.Errorf("%s%s: status %d, want 500", host, uri, got)
			}
		}
	}
	if got := (call{Host: "other.test", URI: "/a"}).do(t, bind).Status; got != 200 {
		t.Errorf("the open host answers %d", got)
	}
}

func virtualHosts(t *testing.T, table resource.Resource) []*routev3.VirtualHost {
	t.Helper()
	var m routev3.RouteConfiguration
	if err := proto.Unmarshal(table.Flatten(nil), &m); err != nil {
		t.Fatal(err)
	}
	return m.VirtualHosts
}
