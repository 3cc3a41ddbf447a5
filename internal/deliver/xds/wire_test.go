package xds

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestAResourceIsEncodedOnce: what ten proxies are sent of a table is the same bytes in memory.
func TestAResourceIsEncodedOnce(t *testing.T) {
	const proxies = 10
	c := newCore()
	body := strings.Repeat("x", 1<<20)
	r := table("t", []host{{"*", []hostRule{{name: "r", body: body}}}}, nil)
	c.set.applyUpdates([]update{{resource.Name{Type: xdstypes.Routes, Name: "t"}, &r}}, c.now)
	var all []*response
	for range proxies {
		st := newStream(c.set, "p", "1.40.0")
		st.onRequest(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(xdstypes.Routes),
			ResourceNamesSubscribe: []string{"t"}})
		out, _ := st.runStep()
		all = append(all, out...)
	}
	if len(all) != proxies {
		t.Fatalf("%d responses", len(all))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var messages []mem.BufferSlice
	for _, r := range all {
		m, err := codec{}.Marshal(c.set.encodeResponse(r))
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	runtime.ReadMemStats(&after)
	if got, size := after.TotalAlloc-before.TotalAlloc, uint64(r.Size()); got > size*3/2 {
		t.Errorf("%d bytes for %d proxies, want those of one: %d", got, proxies, size)
	}
	for _, m := range messages {
		var got discoveryv3.DeltaDiscoveryResponse
		if err := proto.Unmarshal(m.Materialize(), &got); err != nil {
			t.Fatal(err)
		}
		if one := got.Resources[0]; got.Nonce != "1" || one.Name != "t" || one.Version != r.Version ||
			len(one.Resource.Value) != r.Size() || one.Resource.TypeUrl != got.TypeUrl {
			t.Errorf("nonce %s, %s=%s", got.Nonce, one.Name, one.Version)
		}
	}
}
