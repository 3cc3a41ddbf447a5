package xds

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/test/testcert"
)

// unknownSocket is a cluster with an extension that no Envoy knows.
func unknownSocket(c *clusterv3.Cluster) *clusterv3.Cluster {
	c.TransportSocket = &corev3.TransportSocket{
		Name: "nope", ConfigType: &corev3.TransportSocket_TypedConfig{
			TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/foo.Bar"},
		},
	}
	return c
}

// A newer version of a resource is refused. A proxy that joins then gets the one that was accepted, and serves, also if
// it is alone by then.
func TestWhoJoinsGetsWhatWasAccepted(t *testing.T) {
	first, second := testcert.SelfSigned("first", "x.test"), testcert.SelfSigned("second", "x.test")
	for name, bad := range map[string]func(e edits, port int){
		"cluster": func(e edits, _ int) { e.set(xdstypes.Cluster, "a", cluster(unknownSocket(edsCluster("a")))) },
		"secret": func(e edits, _ int) {
			e.set(xdstypes.Secret, "cert", secret("cert", second.Certificate, first.PrivateKey))
		},
		"listener": func(e edits, port int) {
			e.set(xdstypes.Listener, "s", secure(listener("s", port, "t", shared, broken), "cert"))
		},
		"listener and its certificate": func(e edits, port int) {
			e.set(xdstypes.Listener, "s", secure(listener("s", port, "t", shared, broken), "other"))
			e.set(xdstypes.Secret, "other", secret("other", second.Certificate, second.PrivateKey))
			e.delete(xdstypes.Secret, "cert")
		},
	} {
		for _, alone := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " alone"}[alone], func(t *testing.T) {
				w, p, _ := simple(t, shared)
				port := freePorts(t, 1)[0]
				w.turn(func(e edits) {
					e.set(xdstypes.Listener, "s", secure(listener("s", port, "t", shared), "cert"))
					e.set(xdstypes.Secret, "cert", secret("cert", first.Certificate, first.PrivateKey))
				})
				securely(t, port, "x.test: 200 a")
				w.turn(func(e edits) { bad(e, port) })
				eventually(t, "it is refused", func() bool { return len(w.refusals()) == 1 })
				leave := func() {
					p.kill()
					eventually(t, "the first one is gone", func() bool {
						return w.proxies().Connected == 0 ||
							w.proxies().Connected == 1 && !alone
					})
				}
				if alone {
					leave()
				}
				nacks := w.metrics()
				q := startEnvoy(t, w)
				q.live()
				if !alone {
					eventually(t, "both have everything", func() bool { return w.proxies().Acknowledged == 2 })
					leave()
				}
				securely(t, port, "x.test: 200 a")
				if got := subject(port); got != "first" {
					t.Errorf("it serves with %q", got)
				}
				for _, typ := range xdstypes.All() {
					if k := "cardea_xds_nacks_total/" + xdstypes.Name(typ); w.metrics()[k] != nacks[k] {
						t.Errorf("it refused %v of %s", w.metrics()[k], xdstypes.Name(typ))
					}
				}
				if len(w.refusals()) != 1 {
					t.Errorf("refused: %v", w.refusals())
				}
			})
		}
	}
}

// Envoy makes a filter chain with the certificate that it was sent last, also if it refused that. So the one that was
// accepted is sent after it: an edit of the listener is live with it.
func TestARefusedCertificateIsNotKept(t *testing.T) {
	first, second := testcert.SelfSigned("first", "x.test"), testcert.SelfSigned("second", "x.test")
	w, _, _ := simple(t)
	port := freePorts(t, 1)[0]
	w.turn(func(e edits) {
		e.set(xdstypes.Listener, "s", secure(listener("s", port, "t"), "cert"))
		e.set(xdstypes.Secret, "cert", secret("cert", first.Certificate, first.PrivateKey))
	})
	securely(t, port, "x.test: 200 a")
	w.turn(func(e edits) { e.set(xdstypes.Secret, "cert", secret("cert", second.Certificate, first.PrivateKey)) })
	eventually(t, "it is refused", func() bool { return w.refusals()["cert"].Message != "" })
	w.turn(func(e edits) {
		e.set(xdstypes.Listener, "s", secure(listener("s", port, "t2"), "cert"))
		e.hosts("t2", host{"*", []hostRule{{name: "r", body: "edited"}}})
	})
	securely(t, port, "x.test: 200 edited")
	if got := subject(port); got != "first" {
		t.Errorf("it serves with %q", got)
	}
	if got := w.refusals(); len(got) != 1 {
		t.Errorf("refused: %v", got)
	}
}
