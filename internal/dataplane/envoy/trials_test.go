package envoy

import (
	"bytes"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestTrialPieces: all that a virtual host's rules were rendered to is found by their origins, and can be put into a
// table of a trial.
func TestTrialPieces(t *testing.T) {
	w := newWorld(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, 10080, model.HTTP, testListener("http", ""))
		w.addPort(b, 443, 10443, model.HTTPS, testListener("https", "shop.example"))
		w.addBackend(b, service("web"), model.Endpoint{Address: "10.0.0.1", Port: 80})
		own := forward("own", prefix("/own"))
		own.Backends = to("web", "web")
		own.Backends[0].Filters = &model.Filters{Rewrite: &model.Rewrite{Hostname: "own.example"}}
		for i, r := range []model.Rule{forward("two", prefix("/a"), prefix("/b")), forward("one", prefix("/c")), own} {
			w.serve(b, i, 80, "http", "shop.example", r)
		}
		w.serve(b, 9, 80, "http", "*", forward("wide", prefix("/")))
		w.serve(b, 9, 443, "https", "shop.example", forward("two", prefix("/a"), prefix("/b")))
	})
	parts := 0
	for key, r := range w.resources() {
		if key.Type != xdstypes.Routes {
			continue
		}
		for _, p := range r.Parts {
			pieces := Protocol().Trials.SplitPieces(xdstypes.Routes, p)
			if len(pieces) != len(p.Fragments) {
				t.Fatalf("%s, part %q: %d origins of %d fragments", key.Name, p.ID, len(pieces), len(p.Fragments))
			}
			if len(pieces) == 0 {
				continue
			}
			parts++
			size := len(p.Bytes[0])
			var all [][]byte
			for _, f := range p.Fragments {
				all = append(all, pieces[f.Origin]...)
				size += len(bytes.Join(pieces[f.Origin], nil))
			}
			if size != p.Size {
				t.Errorf("%s, part %q: the pieces have %d bytes of %d", key.Name, p.ID, size, p.Size)
			}
			checkTrialTable(t, Protocol().Trials.BuildTrial(xdstypes.Routes, "trial/1", all), p)
		}
	}
	if parts != 3 {
		t.Errorf("%d virtual hosts have rules, want 3", parts)
	}
	checkTrialChains(t, w)
	var l listenerv3.Listener
	if err := proto.Unmarshal(Protocol().Trials.BuildListener("trial/1", "trial/1").AppendBytes(nil), &l); err != nil ||
		l.ValidateAll() != nil {
		t.Errorf("the listener: %v, %v", err, l.ValidateAll())
	}
	if l.GetBindToPort() == nil || l.GetBindToPort().Value {
		t.Error("the trial listener binds its port")
	}
}

// checkTrialChains: each filter chain is a piece, and nothing else of a listener is.
func checkTrialChains(t *testing.T, w *world) {
	t.Helper()
	var all [][]byte
	for _, p := range w.resource(t, xdstypes.Listener, "127.0.0.1:443").Parts {
		all = append(all, Protocol().Trials.SplitPieces(xdstypes.Listener, p)[naming.ListenerOrigin(testListener("https",
			"").Key)]...)
	}
	var l listenerv3.Listener
	if err := proto.Unmarshal(Protocol().Trials.BuildTrial(xdstypes.Listener, "trial/1/chains", all).AppendBytes(nil),
		&l); err != nil || l.ValidateAll() != nil {
		t.Errorf("the listener of chains: %v, %v", err, l.ValidateAll())
	}
	if len(l.FilterChains) != 1 || l.FilterChains[0].Name != "https" || l.GetBindToPort().GetValue() ||
		l.Name != "trial/1/chains" {
		t.Errorf("the listener of chains: %v", &l)
	}
}

func checkTrialTable(t *testing.T, trial resource.Resource, p *resource.Part) {
	t.Helper()
	table, own := new(routev3.RouteConfiguration), new(routev3.RouteConfiguration)
	if err := proto.Unmarshal(trial.AppendBytes(nil), table); err != nil || table.ValidateAll() != nil ||
		table.Name != "trial/1" {
		t.Fatalf("%v, %v", err, table)
	}
	if err := proto.Unmarshal(bytes.Join(p.Bytes, nil), own); err != nil {
		t.Fatal(err)
	}
	if got, want := len(table.VirtualHosts[0].Routes), len(own.VirtualHosts[0].Routes); got != want {
		t.Errorf("%d routes, want %d", got, want)
	}
}
