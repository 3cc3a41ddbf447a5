package envoy

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// changed names the resources that differ between two states.
func changed(before, after map[resource.Key]resource.Resource) []string {
	var list []string
	for k, r := range after {
		if before[k].Version != r.Version {
			list = append(list, xdstypes.Name(k.Type)+" "+k.Name)
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			list = append(list, "gone: "+xdstypes.Name(k.Type)+" "+k.Name)
		}
	}
	slices.Sort(list)
	return list
}

func forward(name string, matches ...model.Match) model.Rule {
	return model.Rule{Key: testRuleKey(name), Matches: matches, Backends: to("web")}
}

func manyHosts(t testing.TB, n int) *world {
	w := newWorld(t)
	w.fillHosts(t, n)
	return w
}

// fillHosts adds n hosts with a rule each, served over HTTP and HTTPS.
func (w *world) fillHosts(t testing.TB, n int) {
	w.apply(func(b *flow.Batch) {
		secret := testSecret(t, "cert", "cert")
		w.secrets.Set(b, secret.Ref, secret)
		l := testListener("https", "")
		l.Certificates = []model.ObjectRef{secret.Ref}
		w.addPort(b, 80, 80, model.HTTP, testListener("http", ""))
		w.addPort(b, 443, 443, model.HTTPS, l)
		w.addBackend(b, service("web"), model.Endpoint{Address: "10.0.0.1", Port: 80})
		for i := range n {
			name := "h" + strconv.Itoa(i) + ".test"
			w.serve(b, 1, 80, "http", name, forward(name, prefix("/a"), prefix("/b")))
			w.serve(b, 1, 443, "https", name, forward(name, prefix("/a"), prefix("/b")))
		}
	})
}

func TestEditTouchesOneVirtualHost(t *testing.T) {
	w := manyHosts(t, 50)
	before := w.resources()
	w.apply(func(b *flow.Batch) {
		r := forward("h7.test", prefix("/a"), prefix("/c"))
		w.setRule(b, r)
	})
	after := w.resources()
	if got, want := changed(before, after), []string{"Routes 443/https/0", "Routes 80/0"}; !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
	key := resource.Key{Gateway: testGateway, Type: xdstypes.Routes, Name: "80/0"}
	if n := len(after[key].Parts); n != 51 {
		t.Fatalf("%d parts", n)
	}
	for i, p := range after[key].Parts {
		if same := p == before[key].Parts[i]; same == (p.ID == "h7.test") {
			t.Errorf("part %s: same is %v", p.ID, same)
		}
	}
	runs := make(map[string]int)
	w.g.View(func(flow.View) {
		turns := w.g.Turns()
		for _, c := range turns[len(turns)-1].Collections {
			runs[c.Name] = c.Runs
		}
	})
	if got, want := runs["envoy/fragments"], 1; got != want {
		t.Errorf("%d rules were rendered, want %d; all runs: %v", got, want, runs)
	}
}

// TestBytesAreShared: one rule at two places stands there with the same bytes in memory.
func TestBytesAreShared(t *testing.T) {
	w := manyHosts(t, 1)
	http, https := w.resource(t, xdstypes.Routes, "80/0"), w.resource(t, xdstypes.Routes, "443/https/0")
	a, b := http.Parts[1].Bytes, https.Parts[1].Bytes
	if len(a) != 3 || len(b) != 3 {
		t.Fatalf("%d and %d pieces, want a head and two routes", len(a), len(b))
	}
	for i := 1; i < 3; i++ {
		if &a[i][0] != &b[i][0] {
			t.Errorf("route %d was marshalled twice", i)
		}
	}
}

func TestEndpointChangeTouchesEndpointsOnly(t *testing.T) {
	w := manyHosts(t, 3)
	before := w.resources()
	w.apply(func(b *flow.Batch) { w.addBackend(b, service("web"), model.Endpoint{Address: "10.0.0.2", Port: 80}) })
	middle := w.resources()
	if got, want := changed(before, middle), []string{"Endpoints service/shop/web/8080"}; !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
	w.apply(func(b *flow.Batch) { w.addBackend(b, service("web")) })
	if got, want := changed(middle, w.resources()), []string{"Endpoints service/shop/web/8080"}; !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q, empty but there", got, want)
	}
}

func TestRotationTouchesTheSecretOnly(t *testing.T) {
	w := manyHosts(t, 3)
	before := w.resources()
	w.apply(func(b *flow.Batch) {
		secret := testSecret(t, "cert", "other")
		w.secrets.Set(b, secret.Ref, secret)
	})
	after := w.resources()
	if got, want := changed(before, after), []string{"Secret secret/shop/cert"}; !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
	w.apply(func(b *flow.Batch) { w.secrets.Delete(b, model.Ref(model.KindSecret, "shop", "cert")) })
	if got, want := changed(after, w.resources()), []string{"gone: Secret secret/shop/cert"}; !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
}

func TestTableWithoutRoutes(t *testing.T) {
	w := manyHosts(t, 0)
	for _, name := range []string{"80/0", "443/https/0"} {
		if r := w.resource(t, xdstypes.Routes, name); len(r.Parts) != 1 {
			t.Errorf("%s has %d parts, want a head", name, len(r.Parts))
		}
	}
}

// TestListenersOfOnePort: a host goes to the most specific listener; where that one has no route it gets 404, not what
// a wider listener would do.
func TestListenersOfOnePort(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("any", ""), testListener("wild", "*.a.test"),
			testListener("one", "x.a.test"))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "any", "*", forward("any", model.Match{}))
		w.serve(b, 1, 80, "wild", "b.a.test", forward("wild", model.Match{}))
	})
	startProxy(t, w.resources())
	for host, status := range map[string]int{
		"other.test": 200, "a.test": 200, "b.a.test": 200, "c.a.test": 404, "x.a.test": 404, "y.x.a.test": 404,
	} {
		if a := (call{Host: host, URI: "/"}).do(t, bind); a.Status != status {
			t.Errorf("%s: %d, want %d", host, a.Status, status)
		}
	}
}

// TestPortBindsEveryAddress: a Listener for each.
func TestPortBindsEveryAddress(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.ports.Set(b, model.PortKey{Gateway: testGateway, Number: 80, Transport: model.TransportTCP}, model.Port{
			Key:      model.PortKey{Gateway: testGateway, Number: 80, Transport: model.TransportTCP},
			BindPort: bind, Addresses: []string{"127.0.0.1", "127.0.0.2"}, Protocol: model.HTTP, DataPlane: naming.DataPlane,
		})
	})
	want := []string{fmt.Sprintf("127.0.0.1:%d", bind), fmt.Sprintf("127.0.0.2:%d", bind)}
	for i, name := range []string{"127.0.0.1:80", "127.0.0.2:80"} {
		if r := w.resource(t, xdstypes.Listener, name); !slices.Equal(r.Binds, want[i:i+1]) {
			t.Errorf("%s binds %q, want %q", name, r.Binds, want[i])
		}
	}
	startProxy(t, w.resources())
	for _, address := range want {
		resp, err := client(t, nil).Get("http://" + address)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 404 {
			t.Errorf("%s answers %d", address, resp.StatusCode)
		}
	}
}

// TestEqualPlansGiveEqualBytes: nothing depends on the order of maps, of edits, or on what was there before.
func TestEqualPlansGiveEqualBytes(t *testing.T) {
	a, b := manyHosts(t, 20), manyHosts(t, 20)
	for _, w := range []*world{a, b} { // certificates are random
		w.apply(func(batch *flow.Batch) { w.secrets.Delete(batch, model.Ref(model.KindSecret, "shop", "cert")) })
	}
	b.apply(func(batch *flow.Batch) {
		for i := range 5 {
			b.routes.Delete(batch, testRuleKey("h"+strconv.Itoa(i)+".test").Route)
		}
	})
	b.apply(func(batch *flow.Batch) {
		for i := range 5 {
			r := forward("h"+strconv.Itoa(i)+".test", prefix("/a"), prefix("/b"))
			b.setRule(batch, r)
		}
	})
	all := a.resources()
	if got := changed(all, b.resources()); len(got) > 0 {
		t.Errorf("these differ: %q", got)
	}
	for k, r := range b.resources() {
		if !bytes.Equal(r.AppendBytes(nil), all[k].AppendBytes(nil)) {
			t.Errorf("%v: bytes differ", k)
		}
		if len(r.AppendBytes(nil)) != r.Size() {
			t.Errorf("%v: %d bytes, but Size is %d", k, len(r.AppendBytes(nil)), r.Size())
		}
		if !slices.IsSortedFunc(r.Parts, func(x, y *resource.Part) int { return comparePart(x, y.ID) }) {
			t.Errorf("%v: parts are not in order", k)
		}
	}
	if types := slices.Collect(maps.Keys(all)); len(types) == 0 {
		t.Error("nothing was rendered")
	}
}

// TestEndpointGroups: endpoints of one priority and zone are a group.
func TestEndpointGroups(t *testing.T) {
	at := func(address, zone string, priority uint32) model.Endpoint {
		return model.Endpoint{Address: address, Port: 80, Zone: zone, Priority: priority}
	}
	a := message.LoadAssignment("web", []model.Endpoint{
		at("10.0.0.1", "", 0), at("10.0.0.2", "", 0), at("10.0.0.3", "a", 0), at("10.0.0.4", "b", 0), at("10.0.0.5", "b", 1),
	})
	var got []string
	for _, group := range a.Endpoints {
		got = append(got, fmt.Sprintf("%d %q %d", group.Priority, group.GetLocality().GetZone(), len(group.LbEndpoints)))
	}
	if want := []string{`0 "" 2`, `0 "a" 1`, `0 "b" 1`, `1 "b" 1`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
