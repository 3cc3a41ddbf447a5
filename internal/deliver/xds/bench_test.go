package xds

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// bigSet is a set of n clusters, endpoints and virtual hosts in one table, and a proxy that has it all.
func bigSet(n int) (*gatewaySet, *stream, []*resource.Part) {
	s := newSet(gateway, storyProtocol())
	var updates []update
	one := func(typ resource.Type, name string, parts ...*resource.Part) {
		updates = append(updates, update{
			name:  resource.Name{Type: typ, Name: name},
			value: &resource.Resource{Version: strconv.FormatUint(parts[0].Hash, 36), Parts: parts},
		})
	}
	origin := func(kind model.Kind, name string) []resource.Fragment {
		return []resource.Fragment{{Origin: resource.Origin{Object: model.Ref(kind, "bench", name)}, Hash: 1}}
	}
	var parts []*resource.Part
	for i := range n {
		name := fmt.Sprintf("c%05d", i)
		one(xdstypes.Cluster, name, &resource.Part{
			Hash: 1, Fragments: origin(model.KindService, name), Needs: []resource.Name{{Type: xdstypes.Endpoints, Name: name}},
		})
		one(xdstypes.Endpoints, name, &resource.Part{Hash: 1, Fragments: origin(model.KindEndpointSlice, name)})
		parts = append(parts, &resource.Part{
			ID: name, Hash: 1, Fragments: origin(model.KindHTTPRoute, name), Bytes: [][]byte{make([]byte, 150)}, Size: 150,
			Needs: []resource.Name{{Type: xdstypes.Cluster, Name: name}},
		})
	}
	one(xdstypes.Listener, "l", &resource.Part{Hash: 1, Needs: []resource.Name{{Type: xdstypes.Routes, Name: "t"}}})
	one(xdstypes.Routes, "t", parts...)
	s.applyUpdates(updates, time.Unix(1, 0))
	st := newStream(s, "p", "1.40.0")
	for _, typ := range xdstypes.All() {
		req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(typ)}
		if !s.isWildcard(typ) {
			for name := range s.entries[typ] {
				req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, name)
			}
		}
		st.onRequest(req)
		settle(st)
	}
	s.feedback = pendingFeedback{}
	return s, st, parts
}

// settle acknowledges everything that is sent, and returns how many resources and bytes that was.
func settle(st *stream) (resources, bytes int) {
	for {
		out, _ := st.runStep()
		if len(out) == 0 {
			return resources, bytes
		}
		for _, r := range out {
			for _, s := range r.items {
				resources++
				bytes += s.v.res.Size()
			}
			st.onRequest(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(r.typ), ResponseNonce: r.nonce})
		}
	}
}

// BenchmarkEdit is what the core does for one edited virtual host, from the turn to the rows of its acknowledgement;
// flattening and sending are not in it. rows tells that the work on rows does not depend on N.
func BenchmarkEdit(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, st, parts := bigSet(n)
			rows := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				next := append([]*resource.Part(nil), parts...)
				p := *next[n/2]
				p.Hash = uint64(i + 2)
				next[n/2] = &p
				parts = next
				u := []update{{resource.Name{Type: xdstypes.Routes, Name: "t"}, &resource.Resource{Version: strconv.Itoa(i),
					Parts: next}}}
				b.StartTimer()
				s.applyUpdates(u, time.Unix(1, 0))
				if resources, _ := settle(st); resources != 1 {
					b.Fatalf("%d resources were sent", resources)
				}
				rows = len(s.feedback.acked)
				s.feedback = pendingFeedback{}
			}
			if rows != 1 {
				b.Fatalf("%d rows for one edit", rows)
			}
			b.ReportMetric(float64(rows), "rows")
		})
	}
}

// BenchmarkMemory is what a set and an idle proxy cost; the resources themselves are in it.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		before := heap()
		s, st, _ := bigSet(10000)
		whole := heap()
		second := newStream(s, "q", "1.40.0")
		for _, typ := range xdstypes.All() {
			req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(typ), InitialResourceVersions: map[string]string{}}
			for name, e := range s.entries[typ] {
				req.InitialResourceVersions[name] = e.offer.res.Version
				if !s.isWildcard(typ) {
					req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, name)
				}
			}
			second.onRequest(req)
			settle(second)
		}
		with := heap()
		b.ReportMetric(float64(whole-before)/1e6, "MB/set")
		b.ReportMetric((float64(with)-float64(whole))/1e3, "kB/proxy")
		runtime.KeepAlive(st)
		runtime.KeepAlive(second)
		runtime.KeepAlive(s)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkKept is a step of a proxy while an entry that left an extension is kept, since one of n tables named it
// before and is not acknowledged.
func BenchmarkKept(b *testing.B) {
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, st := keptSet(n)
			b.ReportAllocs()
			for b.Loop() {
				st.runStep()
			}
			if len(s.lookup(resource.Name{Type: xdstypes.Extension, Name: "x"}).kept) != 1 {
				b.Fatal("the entry is not kept")
			}
		})
	}
}

// keptSet is a set of n tables that need an extension, one of which is in flight to its proxy.
func keptSet(n int) (*gatewaySet, *stream) {
	s := newSet(gateway, storyProtocol())
	x := resource.Name{Type: xdstypes.Extension, Name: "x"}
	version := func(typ resource.Type, name string, hash uint64, needs []resource.Name, ids ...string) update {
		r := &resource.Resource{Version: strconv.FormatUint(hash, 36)}
		for _, id := range ids {
			r.Parts = append(r.Parts, &resource.Part{ID: id, Hash: hash, Needs: needs})
		}
		return update{name: resource.Name{Type: typ, Name: name}, value: r}
	}
	updates := []update{version(xdstypes.Extension, "x", 1, nil, "", "r1", "r2")}
	tables := []resource.Name{x}
	for i := range n {
		name := fmt.Sprint("t", i)
		updates = append(updates, version(xdstypes.Routes, name, 1, []resource.Name{x}, "h"))
		tables = append(tables, resource.Name{Type: xdstypes.Routes, Name: name})
	}
	s.applyUpdates(append(updates, version(xdstypes.Listener, "l", 1, tables, "")), time.Unix(1, 0))
	st := newStream(s, "p", "1.40.0")
	for _, typ := range xdstypes.All() {
		req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(typ)}
		for _, name := range tables {
			if name.Type == typ {
				req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, name.Name)
			}
		}
		st.onRequest(req)
		settle(st)
	}
	s.applyUpdates([]update{
		version(xdstypes.Extension, "x", 2, nil, "", "r2"), version(xdstypes.Routes, "t0", 2, []resource.Name{x}, "h"),
	}, time.Unix(2, 0))
	st.runStep()
	return s, st
}
