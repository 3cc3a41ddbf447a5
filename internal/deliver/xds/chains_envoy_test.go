package xds

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/test/testcert"
)

// chained is a listener of filter chains at a port, which several proxies may bind. All have the secret "cert".
type chained struct {
	Port   int
	Chains []chain
}

// chain serves a route table to a host, "" for all that no other one takes.
type chain struct {
	Name, Host, Table string
	Bad               bool // it has a filter that no Envoy knows
	Filters           bool // it has one that Envoys before 1.39 do not know
}

func tlsListener(name string, port int, change func(*listenerv3.Listener,
	*hcmv3.HttpConnectionManager)) *listenerv3.Listener {
	l := &listenerv3.Listener{
		Name: name, Address: socketAddress("127.0.0.1", port), StatPrefix: name,
		ListenerFilters: []*listenerv3.ListenerFilter{{
			Name:       "tls_inspector",
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: mustAny(&tlsinspectorv3.TlsInspector{})},
		}},
	}
	change(l, nil)
	return l
}

func (c chain) origin() resource.Origin { return resource.Origin{Object: gateway, Section: c.Name} }

func (c chain) render(full bool) []byte {
	m := &listenerv3.FilterChain{Name: c.Name}
	if c.Host != "" {
		m.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{c.Host}}
	}
	if full {
		h := manager(c.Name, c.Table)
		if c.Bad {
			broken(nil, h)
		}
		if c.Filters {
			withFilters(nil, h)
		}
		m.Filters = []*listenerv3.Filter{{Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: mustAny(h)}}}
		m.TransportSocket = &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{
			TypedConfig: mustAny(&tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
				TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: "cert", SdsConfig: adsSource()}},
			}}),
		}}
	}
	return field(3, mustMarshal(m))
}

// listener has a part for the address and one for each chain; a chain without filters in place of one that was refused.
func (l chained) listener(name string, refused func(resource.Origin, uint64) bool) resource.Resource {
	address := part("", tlsListener(name, l.Port, shared), nil)
	address.Fragments = []resource.Fragment{{Origin: resource.Origin{Object: model.Ref(model.KindGateway, "test",
		"address")}, Hash: address.Hash}}
	parts := []*resource.Part{address}
	for _, c := range l.Chains {
		b := c.render(true)
		f := resource.Fragment{Origin: c.origin(), Hash: hashOf(b)}
		p := &resource.Part{ID: "chain/" + c.Name, Claims: []string{c.Host}, Needs: []resource.Name{{Type: xdstypes.Secret,
			Name: "cert"}}}
		if f.Refused = refused(f.Origin, f.Hash); f.Refused {
			b = c.render(false)
		} else {
			p.Needs = append(p.Needs, resource.Name{Type: xdstypes.Routes, Name: c.Table})
		}
		p.Bytes, p.Size, p.Hash, p.Fragments = [][]byte{b}, len(b), hashOf(b), []resource.Fragment{f}
		parts = append(parts, p)
	}
	r := whole(parts...)
	r.Binds = []string{fmt.Sprintf("127.0.0.1:%d", l.Port)}
	return r
}

// secureCall returns "code body" of a request by its SNI on a new connection.
func secureCall(port int, host string) string {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		Dial: func(network, _ string) (net.Conn, error) {
			return net.Dial(network, fmt.Sprintf("127.0.0.1:%d",
				port))
		},
	}}
	r, err := c.Get("https://" + host + "/")
	if err != nil {
		return "no answer"
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return fmt.Sprintf("%d %s", r.StatusCode, b)
}

// securely waits until hosts are answered so, by "host: answer".
func securely(t *testing.T, port int, want ...string) {
	t.Helper()
	for _, w := range want {
		host, want, _ := strings.Cut(w, ": ")
		got := ""
		eventually(t, w, func() bool { got = secureCall(port, host); return got == want })
	}
}

// alwaysSecurely calls some times, whichever proxy gets it.
func alwaysSecurely(t *testing.T, port int, want ...string) {
	t.Helper()
	for _, w := range want {
		if got, ok := securelyAtAll(port, w); !ok {
			t.Fatalf("answers %q, want %q", got, w)
		}
	}
}

// securelyAtAll calls a host some times: some calls go to the one proxy, some to the other. It returns the first answer
// that is not the one of "host: answer".
func securelyAtAll(port int, answer string) (string, bool) {
	host, want, _ := strings.Cut(answer, ": ")
	for range 10 {
		if got := secureCall(port, host); got != want {
			return got, false
		}
	}
	return want, true
}

// tables are one for each name, which answers with it.
func (e edits) tables(names ...string) {
	for _, n := range names {
		e.hosts(n, host{"*", []hostRule{{name: n, body: n}}})
	}
}

func secured(e edits) {
	cert := testcert.SelfSigned("first", "x.test")
	e.set(xdstypes.Secret, "cert", secret("cert", cert.Certificate, cert.PrivateKey))
}

func (w *world) refusedChains() (list map[string]string) {
	list = map[string]string{}
	for k, r := range w.refusedRows() {
		list[k.Origin.Object.Name()+k.Origin.Section] = r.Message
	}
	return list
}

// One chain of a port is refused, others of it are edited with it and after it: they are live. The bad one keeps what
// was accepted, for a proxy that joins, too; and serves when it is mended.
func TestARefusedChainHurtsOnlyItself(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	set := func(e edits, chains ...chain) { e.chains("l", chained{port, chains}) }
	w.sync(func(e edits) {
		secured(e)
		e.tables("a", "b", "a2", "a3", "b2", "c")
		set(e, chain{Name: "a", Host: "a.test", Table: "a"}, chain{Name: "b", Host: "b.test", Table: "b"})
	})
	first := startEnvoy(t, w)
	securely(t, port, "a.test: 200 a", "b.test: 200 b")
	eventually(t, "whole", func() bool { return w.proxies().Acknowledged == 1 })

	w.turn(func(e edits) {
		set(e, chain{Name: "a", Host: "a.test", Table: "a2"}, chain{Name: "b", Host: "b.test", Table: "b2", Bad: true},
			chain{Name: "c", Host: "c.test", Table: "c"})
	})
	securely(t, port, "a.test: 200 a2", "c.test: 200 c")
	alwaysSecurely(t, port, "b.test: 200 b")
	eventually(t, "it is refused", func() bool { return len(w.refusedChains()) > 0 })
	if got := w.refusedChains(); len(got) != 1 || !strings.HasPrefix(got["gwb"],
		"Error adding/updating listener(s) l: Didn't find a registered") {
		t.Errorf("refused: %v", got)
	}
	if got := w.metrics()["cardea_xds_nacks_total/Listener"]; got != 2 {
		t.Errorf("%v refusals, want 2: the listener, and the chain", got)
	}

	second := startEnvoy(t, w)
	eventually(t, "both are whole", func() bool { return w.proxies().Acknowledged == 2 })
	first.kill()
	eventually(t, "one is left", func() bool { return w.proxies().Connected == 1 })
	alwaysSecurely(t, port, "a.test: 200 a2", "b.test: 200 b", "c.test: 200 c")

	// Edits of others go on; what was refused is not tried again.
	w.turn(func(e edits) {
		set(e, chain{Name: "a", Host: "a.test", Table: "a3"}, chain{Name: "b", Host: "b.test", Table: "b2", Bad: true},
			chain{Name: "c", Host: "c.test", Table: "c"})
	})
	securely(t, port, "a.test: 200 a3")
	alwaysSecurely(t, port, "b.test: 200 b")
	// One takes the host of the bad one: there is one chain for a host, so the former one can't stay.
	w.turn(func(e edits) {
		set(e, chain{Name: "a", Host: "a.test", Table: "a3"}, chain{Name: "b", Host: "b2.test", Table: "b2", Bad: true},
			chain{Name: "c", Host: "b.test", Table: "c"})
	})
	eventually(t, "it is refused", func() bool { return len(w.refusedChains()) == 1 })
	securely(t, port, "b.test: 200 c", "b2.test: no answer")
	w.turn(func(e edits) {
		set(e, chain{Name: "a", Host: "a.test", Table: "a3"}, chain{Name: "b", Host: "b2.test", Table: "b2"},
			chain{Name: "c", Host: "b.test", Table: "c"})
	})
	securely(t, port, "b2.test: 200 b2", "b.test: 200 c")
	eventually(t, "nothing is refused", func() bool { return len(w.refusedChains()) == 0 })
	if got := second.stat("listener_manager.total_listeners_active"); got != 1 {
		t.Errorf("%d listeners, want 1: the trials' are gone", got)
	}
}

// A fresh proxy gets bad chains, few and many: all others serve, and a host of a bad one is refused rather than served
// by a wider chain.
func TestBadChainsAtTheStart(t *testing.T) {
	for _, n := range []int{2, 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			port := freePorts(t, 1)[0]
			l := chained{port, []chain{{Name: "wide", Host: "", Table: "wide"}}}
			for i := range n {
				name := fmt.Sprintf("h%d", i)
				l.Chains = append(l.Chains, chain{Name: name, Host: name + ".test", Table: name, Bad: i%20 == 1})
			}
			w.sync(func(e edits) {
				secured(e)
				for _, c := range l.Chains {
					e.tables(c.Table)
				}
				e.chains("l", l)
			})
			startEnvoy(t, w)
			for _, c := range l.Chains {
				switch {
				case c.Bad:
					securely(t, port, c.Host+": no answer")
				case c.Host != "":
					securely(t, port, c.Host+": 200 "+c.Name)
				}
			}
			securely(t, port, "other.test: 200 wide")
			eventually(t, "whole", func() bool { return w.proxies().Acknowledged == 1 })
			bad := 1 + (n-2)/20
			if got := w.refusedChains(); len(got) != bad {
				t.Errorf("refused: %v", got)
			}
			mended := chained{port, append([]chain(nil), l.Chains...)}
			for i := range mended.Chains {
				mended.Chains[i].Bad = false
			}
			w.turn(func(e edits) { e.chains("l", mended) })
			securely(t, port, "h1.test: 200 h1")
			eventually(t, "nothing is refused", func() bool { return len(w.refusedChains()) == 0 })
		})
	}
}

// A port that is taken is nobody's chain's fault.
func TestATakenPortOfChains(t *testing.T) {
	w := newWorld(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Addr().(*net.TCPAddr).Port
	w.sync(func(e edits) {
		secured(e)
		e.tables("a", "b")
		e.chains("l", chained{port, []chain{{Name: "a", Host: "a.test", Table: "a"}, {Name: "b", Host: "b.test", Table: "b",
			Bad: true}}})
	})
	startEnvoy(t, w)
	refused := func() string { return w.refusedChains()["address"] }
	eventually(t, "the address is refused", func() bool { return strings.Contains(refused(), "Address already in use") })
	taken.Close()
	w.pass(firstTry)
	securely(t, port, "a.test: 200 a")
	eventually(t, "the bad chain is refused", func() bool {
		got := w.refusedChains()
		return len(got) == 1 && strings.Contains(got["gwb"], "Didn't find")
	})
}
