package xds

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// What follows happens in the world around proxies: slow names, silent backends, taken ports.

// dnsCluster is a cluster whose name is looked up at a resolver that never answers.
func dnsCluster(t *testing.T, name string, waitForWarm bool) *clusterv3.Cluster {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	resolver := socketAddress("127.0.0.1", silent.LocalAddr().(*net.UDPAddr).Port)
	resolver.GetSocketAddress().Protocol = corev3.SocketAddress_UDP
	c := &clusterv3.Cluster{
		Name:                 name,
		ConnectTimeout:       durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{Address: socketAddress("slow.example", 80)},
			}}},
		}}},
		TypedDnsResolverConfig: &corev3.TypedExtensionConfig{
			Name: "envoy.network.dns_resolver.cares",
			TypedConfig: mustAny(&caresv3.CaresDnsResolverConfig{Resolvers: []*corev3.Address{resolver},
				DnsResolverOptions: &corev3.DnsResolverOptions{NoDefaultSearchDomain: true}}),
		},
	}
	if !waitForWarm {
		c.WaitForWarmOnInit = wrapperspb.Bool(false)
	}
	return c
}

// silentPort accepts connections and never answers.
func silentPort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func ackedFragment(w *world, typ resource.Type, name string, r resource.Resource) func() bool {
	f := r.Parts[len(r.Parts)-1].Fragments[0]
	return func() bool { return w.acked(typ, name, f.Origin) == f.Hash }
}

// A cluster whose DNS is silent and that is waited for holds back the acknowledgement of all later clusters. Nothing of
// ours waits for that.
func TestRule1SilentDNSHoldsNothing(t *testing.T) {
	w, _, port := simple(t)
	b := backend(t, "b")
	slow := cluster(dnsCluster(t, "slow", true))
	w.turn(func(e edits) { e.set(xdstypes.Cluster, "slow", slow) })
	w.turn(func(e edits) {
		e.set(xdstypes.Cluster, "b", cluster(edsCluster("b")))
		e.set(xdstypes.Endpoints, "b", endpoints("b", b))
		e.set(xdstypes.Routes, "t", toCluster("t", "b"))
		e.delete(xdstypes.Cluster, "a")
		e.delete(xdstypes.Endpoints, "a")
	})
	answers(t, port, "x.test", "/", "200 b")
	eventually(t, "the table is acknowledged", ackedFragment(w, xdstypes.Routes, "t", toCluster("t", "b")))
	if ackedFragment(w, xdstypes.Cluster, "slow", slow)() {
		t.Error("the silent cluster is acknowledged: the test does not test what it says")
	}
	// With wait_for_warm_on_init false it is acknowledged, and so is what waited behind it.
	quick := cluster(dnsCluster(t, "slow", false))
	w.turn(func(e edits) { e.set(xdstypes.Cluster, "slow", quick) })
	eventually(t, "the silent cluster is acknowledged", ackedFragment(w, xdstypes.Cluster, "slow", quick))
	eventually(t, "the other cluster is acknowledged", ackedFragment(w, xdstypes.Cluster, "b", cluster(edsCluster("b"))))
}

// A silent resolver does not hold a start, either, if the cluster is not waited for.
func TestRule1StartWithSilentDNS(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	w.sync(func(e edits) {
		e.set(xdstypes.Cluster, "slow", cluster(dnsCluster(t, "slow", false)))
		e.set(xdstypes.Listener, "l", listener("l", port, "t"))
		e.hosts("t", host{"*", []hostRule{{name: "r", body: "here"}, {name: "s", prefix: "slow", cluster: "slow"}}})
	})
	startEnvoy(t, w).live()
	answers(t, port, "x.test", "/", "200 here")
	eventually(t, "acknowledged", func() bool { return w.proxies().Acknowledged == 1 })
}

// A health check that nobody answers holds back acknowledgements of clusters. A table that names the new cluster waits
// for it; other tables and endpoints don't.
func TestRule3SilentHealthCheckHoldsOnlyItsTable(t *testing.T) {
	w, _, port := simple(t)
	b := backend(t, "b")
	other := freePorts(t, 1)[0]
	w.turn(func(e edits) {
		e.set(xdstypes.Listener, "m", listener("m", other, "u"))
		e.hosts("u", host{"*", []hostRule{{name: "u", body: "u0"}}})
	})
	answers(t, other, "x.test", "/", "200 u0")

	sick := edsCluster("sick")
	sick.HealthChecks = []*corev3.HealthCheck{{
		Timeout: durationpb.New(time.Hour), Interval: durationpb.New(time.Hour),
		UnhealthyThreshold: wrapperspb.UInt32(1), HealthyThreshold: wrapperspb.UInt32(1),
		HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{Path: "/"}},
	}}
	r := cluster(sick)
	r.Warms = true
	w.turn(func(e edits) {
		e.set(xdstypes.Cluster, "sick", r)
		e.set(xdstypes.Endpoints, "sick", endpoints("sick", b, silentPort(t)))
		e.set(xdstypes.Routes, "t", toCluster("t", "sick"))
	})
	f := startTraffic(port, "x.test")
	w.turn(func(e edits) {
		e.hosts("u", host{"*", []hostRule{{name: "u", body: "u1"}}})
		e.set(xdstypes.Endpoints, "a", endpoints("a", backend(t, "a2")))
	})
	answers(t, other, "x.test", "/", "200 u1")
	answers(t, port, "x.test", "/", "200 a2")
	if ackedFragment(w, xdstypes.Routes, "t", toCluster("t", "sick"))() {
		t.Error("the table did not wait for its cluster")
	}
	f.stop(t)
	// After five seconds it is sent all the same.
	eventually(t, "the table is acknowledged", ackedFragment(w, xdstypes.Routes, "t", toCluster("t", "sick")))
}

// A changed cluster warms again without asking for its endpoints. Without them, and with no fetch timeout, it would
// never be acknowledged.
func TestRule1EndpointsFollowAChangedCluster(t *testing.T) {
	w, _, port := simple(t)
	f := startTraffic(port, "x.test")
	var last resource.Resource
	for i := range 10 {
		c := edsCluster("a")
		c.EdsClusterConfig.EdsConfig.InitialFetchTimeout = durationpb.New(0)
		c.ConnectTimeout = durationpb.New(time.Duration(i+1) * time.Second)
		last = cluster(c)
		w.turn(func(e edits) { e.set(xdstypes.Cluster, "a", last) })
		eventually(t, "the cluster is acknowledged", ackedFragment(w, xdstypes.Cluster, "a", last))
	}
	f.stop(t)
}

// A listener is replaced by another one on its port, again and again: one response holds both.
func TestRule2ListenerAndSuccessorShareAResponse(t *testing.T) {
	w, _, port := simple(t)
	last := "l"
	for i := range 10 {
		next := fmt.Sprintf("m%d", i)
		r := listener(next, port, "t")
		w.turn(func(e edits) {
			e.delete(xdstypes.Listener, last)
			e.set(xdstypes.Listener, next, r)
		})
		eventually(t, "the successor is acknowledged", ackedFragment(w, xdstypes.Listener, next, r))
		answers(t, port, "x.test", "/", "200 a")
		last = next
	}
	if got := w.refusals(); len(got) > 0 {
		t.Errorf("refused: %v", got)
	}
	// Even when the edits come faster than the answers.
	for i := range 10 {
		next := fmt.Sprintf("n%d", i)
		w.turn(func(e edits) {
			e.delete(xdstypes.Listener, last)
			e.set(xdstypes.Listener, next, listener(next, port, "t"))
		})
		last = next
	}
	eventually(t, "the last one is acknowledged", ackedFragment(w, xdstypes.Listener, last, listener(last, port, "t")))
	answers(t, port, "x.test", "/", "200 a")
	if got := w.refusals(); len(got) > 0 {
		t.Errorf("refused: %v", got)
	}
}

// A new listener and a new table in one turn: the table follows its listener.
func TestRule2NewTableFollowsItsListener(t *testing.T) {
	w, _, _ := simple(t)
	for i, port := range freePorts(t, 5) {
		name := fmt.Sprintf("new%d", i)
		w.turn(func(e edits) {
			e.set(xdstypes.Listener, name, listener(name, port, name))
			e.set(xdstypes.Routes, name, toCluster(name, "a"))
		})
		answers(t, port, "x.test", "/", "200 a")
	}
}

// Removals wait for what names them; a name that is back is not removed.
func TestRule4RemovalIsDroppedIfTheNameIsBack(t *testing.T) {
	w, p, port := simple(t)
	b := backend(t, "b")
	f := startTraffic(port, "x.test", "y.test")
	for i := range 20 {
		on, off := "a", "b"
		if i%2 == 0 {
			on, off = "b", "a"
		}
		w.turn(func(e edits) {
			e.set(xdstypes.Cluster, on, cluster(edsCluster(on)))
			e.set(xdstypes.Endpoints, on, endpoints(on, b))
			e.set(xdstypes.Routes, "t", toCluster("t", on))
			e.delete(xdstypes.Cluster, off)
			e.delete(xdstypes.Endpoints, off)
		})
	}
	f.called(t, 100)
	f.stop(t)
	eventually(t, "the last one is left", func() bool {
		c := p.clusters()
		return len(c) == 1 && c["a"]
	})
}

// A proxy starts though names are missing: its listeners open at once, and the table and the endpoints come later.
func TestRule5MissingNamesHoldNoStart(t *testing.T) {
	w := newWorld(t)
	ports := freePorts(t, 2)
	w.sync(func(e edits) {
		e.set(xdstypes.Cluster, "late", cluster(edsCluster("late")))
		e.set(xdstypes.Listener, "l", listener("l", ports[0], "t", noFetchTimeout))
		e.set(xdstypes.Listener, "m", listener("m", ports[1], "none", noFetchTimeout))
		e.set(xdstypes.Routes, "t", toCluster("t", "late"))
	})
	startEnvoy(t, w).live()
	answers(t, ports[0], "x.test", "/", "503 no healthy upstream")
	answers(t, ports[1], "x.test", "/", "404 ")
	a := backend(t, "a")
	w.turn(func(e edits) {
		e.set(xdstypes.Endpoints, "late", endpoints("late", a))
		e.set(xdstypes.Routes, "none", toCluster("none", "late"))
	})
	answers(t, ports[0], "x.test", "/", "200 a")
	answers(t, ports[1], "x.test", "/", "200 a")
}

// noFetchTimeout has Envoy wait for a table for ever, so that a missing answer is noticed.
func noFetchTimeout(_ *listenerv3.Listener, h *hcmv3.HttpConnectionManager) {
	h.GetRds().ConfigSource.InitialFetchTimeout = durationpb.New(0)
}

// A port that is taken: that listener is refused, others serve, and it serves when the port is free.
func TestRule6TakenPort(t *testing.T) {
	w, _, port := simple(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	busy := taken.Addr().(*net.TCPAddr).Port
	free := freePorts(t, 1)[0]
	w.turn(func(e edits) {
		e.set(xdstypes.Listener, "busy", listener("busy", busy, "t"))
		e.set(xdstypes.Listener, "free", listener("free", free, "t"))
	})
	answers(t, free, "x.test", "/", "200 a")
	eventually(t, "the listener is refused", func() bool {
		return strings.Contains(w.refusals()["busy"].Message, "Address already in use")
	})
	eventually(t, "the other one is acknowledged", ackedFragment(w, xdstypes.Listener, "free", listener("free", free,
		"t")))
	if len(w.refusals()) != 1 {
		t.Errorf("refused: %v", w.refusals())
	}
	answers(t, port, "x.test", "/", "200 a")
	taken.Close()
	w.pass(firstTry)
	answers(t, busy, "x.test", "/", "200 a")
	eventually(t, "nothing is refused", func() bool { return len(w.refusals()) == 0 })
}

// A listener with a filter that Envoy can't take keeps its old form, also for a proxy that joins, and no request fails.
func TestRule6RefusedListenerKeepsItsOldForm(t *testing.T) {
	w, _, port := simple(t, shared)
	f := startTraffic(port, "x.test", "y.test")
	f.called(t, 50)
	w.turn(func(e edits) { e.set(xdstypes.Listener, "l", listener("l", port, "t", shared, broken)) })
	eventually(t, "the listener is refused", func() bool { return w.refusals()["l"].Message != "" })
	f.called(t, 50)
	f.stop(t)
	second := startEnvoy(t, w)
	eventually(t, "the second one serves it",
		func() bool { return second.stat("listener_manager.total_listeners_active") == 1 })
	for range 20 {
		if got := call(port, "x.test", "/"); got != "200 a" {
			t.Fatalf("answered %q", got)
		}
	}
	if got := w.metrics()["cardea_xds_nacks_total/Listener"]; got != 1 {
		t.Errorf("%v refusals, want 1", got)
	}

	b := backend(t, "b")
	w.turn(func(e edits) { e.set(xdstypes.Endpoints, "a", endpoints("a", b)) })
	answers(t, port, "x.test", "/", "200 b")
	w.turn(func(e edits) { e.set(xdstypes.Listener, "l", listener("l", port, "t", shared, noFetchTimeout)) })
	eventually(t, "the refusal is over", func() bool { return len(w.refusals()) == 0 })
}

// One bad rule of many that came in one turn: it is found and refused, and everything else goes live.
func TestRule6BadRouteIsFoundAndTheRestGoesLive(t *testing.T) {
	for _, n := range []int{1, 7, 40} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w, _, _ := simple(t)
			port := freePorts(t, 1)[0]
			w.turn(func(e edits) {
				e.set(xdstypes.Listener, "m", listener("m", port, "u"))
				var hosts []host
				for i := range n {
					name := fmt.Sprintf("h%d", i)
					hosts = append(hosts, host{name, []hostRule{{name: name, body: name, bad: i == n/2}}})
				}
				e.hosts("u", append(hosts, host{"many", []hostRule{
					{name: "m1", prefix: "1", body: "1"}, {name: "m2", prefix: "2", body: "2", bad: true},
					{name: "m3", prefix: "3", body: "3"}, {name: "m4", prefix: "4", body: "4"},
				}})...)
			})
			for i := range n {
				name, want := fmt.Sprintf("h%d", i), fmt.Sprintf("200 h%d", i)
				if i == n/2 {
					want = "500 refused"
				}
				answers(t, port, name, "/", want)
			}
			for path, want := range map[string]string{"/1": "200 1", "/2": "500 refused", "/3": "200 3", "/4": "200 4"} {
				answers(t, port, "many", path, want)
			}
			eventually(t, "just the bad ones are refused", func() bool {
				r := w.refusals()
				return len(r) == 2 && strings.Contains(r["m2"].Message, "missing ]") && r["m2"].Version == "1.40.0" &&
					r[fmt.Sprintf("h%d", n/2)].Name == "u"
			})
			// The owner mends one.
			w.turn(func(e edits) {
				e.hosts("u", host{"many", []hostRule{{name: "m1", prefix: "1", body: "one"}, {name: "m2", prefix: "2",
					body: "two"}}})
			})
			answers(t, port, "many", "/2", "200 two")
			eventually(t, "nothing is refused", func() bool { return len(w.refusals()) == 0 })
		})
	}
}

// The server goes away and comes back: the proxy serves meanwhile, and what was deleted then is removed.
func TestReconnect(t *testing.T) {
	w, p, port := simple(t)
	f := startTraffic(port, "x.test")
	b := backend(t, "b")
	w.grpc.Stop()
	w.turn(func(e edits) {
		e.set(xdstypes.Cluster, "b", cluster(edsCluster("b")))
		e.set(xdstypes.Endpoints, "b", endpoints("b", b))
		e.set(xdstypes.Routes, "t", toCluster("t", "b"))
		e.delete(xdstypes.Cluster, "a")
		e.delete(xdstypes.Endpoints, "a")
	})
	f.called(t, 50)
	w.listen()
	answers(t, port, "x.test", "/", "200 b")
	eventually(t, "the old cluster is gone", func() bool {
		c := p.clusters()
		return len(c) == 1 && c["b"]
	})
	f.stop(t)
	eventually(t, "acknowledged", func() bool { return w.proxies().Acknowledged == 1 })
}

// A second proxy can't bind the port: that is told, and the first one, which accepted the listener, keeps it. When that
// one is gone the second one has the port, though nothing was edited.
func TestProxyThatCannotBindTakesNothingFromTheOther(t *testing.T) {
	w, first, port := simple(t)
	startEnvoy(t, w).live()
	eventually(t, "the refusal is told", func() bool {
		return strings.Contains(w.refusals()["l"].Message,
			"Address already in use")
	})
	b := backend(t, "b")
	w.turn(func(e edits) { e.set(xdstypes.Endpoints, "a", endpoints("a", b)) })
	answers(t, port, "x.test", "/", "200 b")
	eventually(t, "both have all else", func() bool { return w.proxies().Connected == 2 && w.proxies().Acknowledged == 2 })
	w.pass(lastTry)
	eventually(t, "it is refused again", func() bool { return w.metrics()["cardea_xds_nacks_total/Listener"] == 2 })
	if got := w.metrics()["cardea_xds_refusals_total/Gateway"]; got != 1 {
		t.Errorf("the refusal is told %v times", got)
	}
	first.kill()
	eventually(t, "one proxy is left", func() bool { return w.proxies().Connected == 1 })
	w.pass(lastTry)
	answers(t, port, "x.test", "/", "200 b")
	eventually(t, "nothing is refused", func() bool { return len(w.refusals()) == 0 })
}

// A proxy that is killed counts no more; the next one gets everything.
func TestRestart(t *testing.T) {
	w, p, port := simple(t)
	p.kill()
	eventually(t, "no proxy is connected", func() bool { return w.proxies().Connected == 0 })
	b := backend(t, "b")
	w.turn(func(e edits) {
		e.set(xdstypes.Cluster, "b", cluster(edsCluster("b")))
		e.set(xdstypes.Endpoints, "b", endpoints("b", b))
		e.set(xdstypes.Routes, "t", toCluster("t", "b"))
	})
	startEnvoy(t, w)
	answers(t, port, "x.test", "/", "200 b")
	eventually(t, "acknowledged", func() bool { return w.proxies().Acknowledged == 1 })
	eventually(t, "the edit is acknowledged", ackedFragment(w, xdstypes.Routes, "t", toCluster("t", "b")))
}

// A fresh proxy gets a bad rule: all else is served, and its host answers an error, not what a wider one would.
func TestRule6BadHostDoesNotFallToAWiderOne(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	w.sync(func(e edits) {
		e.set(xdstypes.Listener, "l", listener("l", port, "t"))
		e.hosts("t",
			host{"*", []hostRule{{name: "wide", body: "wide"}}},
			host{"bad.test", []hostRule{{name: "bad", bad: true}}},
			host{"good.test", []hostRule{{name: "good", body: "good"}}},
		)
	})
	startEnvoy(t, w)
	eventually(t, "the bad rule is refused", func() bool { return w.refusals()["bad"].Message != "" })
	answers(t, port, "good.test", "/", "200 good")
	answers(t, port, "other.test", "/", "200 wide")
	if got := call(port, "bad.test", "/"); got != "500 refused" {
		t.Errorf("the bad host answers %q", got)
	}
}

// broken has a filter that Envoy does not know.
func broken(_ *listenerv3.Listener, h *hcmv3.HttpConnectionManager) {
	h.HttpFilters = append([]*hcmv3.HttpFilter{{Name: "nope", ConfigType: &hcmv3.HttpFilter_TypedConfig{
		TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/foo.Bar"},
	}}}, h.HttpFilters...)
}

// Several listeners and clusters are refused at once: one answer names all of them, and they are not sent again.
func TestRule6AllCulpritsAreFoundInOneAnswer(t *testing.T) {
	w, p, _ := simple(t)
	names := []string{"n1", "n2", "n3", "n4"}
	ports := freePorts(t, len(names))
	w.turn(func(e edits) {
		for i, n := range names {
			if n == "n2" {
				e.set(xdstypes.Listener, n, listener(n, ports[i], "t"))
				e.set(xdstypes.Cluster, n, cluster(edsCluster(n)))
				continue
			}
			e.set(xdstypes.Listener, n, listener(n, ports[i], "t", broken))
			c := edsCluster(n)
			c.TransportSocket = &corev3.TransportSocket{Name: "nope", ConfigType: &corev3.TransportSocket_TypedConfig{
				TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/foo.Bar"},
			}}
			e.set(xdstypes.Cluster, n, cluster(c))
		}
	})
	answers(t, ports[1], "x.test", "/", "200 a")
	rows := func() map[resource.Type][]string {
		out := map[resource.Type][]string{}
		w.graph.View(func(v flow.View) {
			for k, r := range flow.All(v, w.feedback.Refused.Collection()) {
				out[r.Type] = append(out[r.Type], k.Origin.Object.Name())
				if r.Message != strings.TrimSpace(r.Message) {
					t.Errorf("%q", r.Message)
				}
			}
		})
		return out
	}
	eventually(t, "all are refused", func() bool {
		return len(rows()[xdstypes.Listener]) == 3 &&
			len(rows()[xdstypes.Cluster]) == 3
	})
	eventually(t, "the good cluster is there", func() bool { return p.clusters()["n2"] })
	for typ, names := range rows() {
		slices.Sort(names)
		if !slices.Equal(names, []string{"n1", "n3", "n4"}) {
			t.Errorf("%s refused: %q", xdstypes.Name(typ), names)
		}
		if got := w.metrics()["cardea_xds_nacks_total/"+xdstypes.Name(typ)]; got != 1 {
			t.Errorf("%v refusals of %s, want 1: each sends good and bad ones again", got, xdstypes.Name(typ))
		}
	}
}
