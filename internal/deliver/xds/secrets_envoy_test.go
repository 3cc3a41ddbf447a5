package xds

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/test/testcert"
)

func secret(name string, cert, key []byte) resource.Resource {
	inline := func(b []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
	}
	return single(model.KindSecret, name, &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{
		TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: inline(cert), PrivateKey: inline(key)},
	}})
}

// secure makes a listener of one that serves in the clear.
func secure(r resource.Resource, secretName string) resource.Resource {
	var l listenerv3.Listener
	if err := proto.Unmarshal(r.AppendBytes(nil), &l); err != nil {
		panic(err)
	}
	l.FilterChains[0].TransportSocket = &corev3.TransportSocket{
		Name: "tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: mustAny(&tlsv3.DownstreamTlsContext{
			CommonTlsContext: &tlsv3.CommonTlsContext{
				TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: secretName, SdsConfig: adsSource()}},
			},
		})},
	}
	s := single(model.KindGateway, l.Name, &l, append(r.Parts[0].Needs, resource.Name{Type: xdstypes.Secret,
		Name: secretName})...)
	s.Binds = r.Binds
	return s
}

// subject is the name in the certificate that a new handshake sees.
func subject(port int) string {
	c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{InsecureSkipVerify: true,
		ServerName: "x.test"})
	if err != nil {
		return ""
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// Edits of routes, endpoints, clusters and secrets leave connections alone; new handshakes see a new certificate; one
// that Envoy can't use is refused, and the last good one serves on.
func TestRule7EditsDrainNothing(t *testing.T) {
	w, _, _ := simple(t)
	port := freePorts(t, 1)[0]
	cert := testcert.SelfSigned("first", "x.test")
	w.turn(func(e edits) {
		e.set(xdstypes.Listener, "s", secure(listener("s", port, "t"), "cert"))
		e.set(xdstypes.Secret, "cert", secret("cert", cert.Certificate, cert.PrivateKey))
	})
	eventually(t, "the first certificate serves", func() bool { return subject(port) == "first" })

	dials := 0
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		Dial:            func(network, addr string) (net.Conn, error) { dials++; return net.Dial(network, addr) },
	}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	get := func() string {
		r, err := c.Get(fmt.Sprintf("https://127.0.0.1:%d/", port))
		if err != nil {
			return err.Error()
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return string(b)
	}
	if got := get(); got != "a" {
		t.Fatalf("got %q", got)
	}
	b := backend(t, "b")
	second := testcert.SelfSigned("second", "x.test")
	w.turn(func(e edits) {
		e.set(xdstypes.Secret, "cert", secret("cert", second.Certificate, second.PrivateKey))
		e.set(xdstypes.Cluster, "b", cluster(edsCluster("b")))
		e.set(xdstypes.Endpoints, "b", endpoints("b", b))
		e.set(xdstypes.Routes, "t", toCluster("t", "b"))
	})
	eventually(t, "the second certificate serves", func() bool { return subject(port) == "second" })
	eventually(t, "the new route serves on the old connection", func() bool { return get() == "b" })

	w.turn(func(e edits) { e.set(xdstypes.Secret, "cert", secret("cert", cert.Certificate, second.PrivateKey)) })
	eventually(t, "the bad pair is refused", func() bool {
		return w.refusals()["cert"].Type == xdstypes.Secret &&
			w.refusals()["cert"].Message != ""
	})
	if got := subject(port); got != "second" {
		t.Errorf("the last good certificate does not serve: %q", got)
	}
	third := testcert.SelfSigned("third", "x.test")
	w.turn(func(e edits) { e.set(xdstypes.Secret, "cert", secret("cert", third.Certificate, third.PrivateKey)) })
	eventually(t, "the third certificate serves", func() bool { return subject(port) == "third" })
	eventually(t, "nothing is refused", func() bool { return len(w.refusals()) == 0 })
	if got := get(); got != "b" || dials != 1 {
		t.Errorf("%q over %d connections", got, dials)
	}
}

// A listener whose secret is missing must not hold the others.
func TestRule5MissingSecretHoldsNothing(t *testing.T) {
	w := newWorld(t)
	ports := freePorts(t, 2)
	w.sync(func(e edits) {
		e.set(xdstypes.Listener, "l", listener("l", ports[0], "t"))
		e.set(xdstypes.Listener, "s", secure(listener("s", ports[1], "t"), "late"))
		e.hosts("t", host{"*", []hostRule{{name: "r", body: "here"}}})
	})
	startEnvoy(t, w)
	answers(t, ports[0], "x.test", "/", "200 here")
	eventually(t, "acknowledged", func() bool { return w.proxies().Acknowledged == 1 })
	cert := testcert.SelfSigned("late", "x.test")
	w.turn(func(e edits) { e.set(xdstypes.Secret, "late", secret("late", cert.Certificate, cert.PrivateKey)) })
	eventually(t, "the certificate serves", func() bool { return subject(ports[1]) == "late" })
}

// A cluster with a client certificate that Envoy can't use is refused when it is made anew, and tried again when the
// certificate is mended.
func TestARefusedClusterIsTriedAgainWithItsSecret(t *testing.T) {
	w, _, _ := simple(t)
	good, other := testcert.SelfSigned("good", "x.test"), testcert.SelfSigned("other", "x.test")
	port := backend(t, "a")
	shows := func(e edits, timeout time.Duration) resource.Resource {
		c := edsCluster("c")
		c.ConnectTimeout = durationpb.New(timeout)
		c.TransportSocket = &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{
			TypedConfig: mustAny(&tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
				TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: "client", SdsConfig: adsSource()}},
			}}),
		}}
		r := single(model.KindService, "c", c, resource.Name{Type: xdstypes.Endpoints, Name: "c"},
			resource.Name{Type: xdstypes.Secret, Name: "client"})
		e.set(xdstypes.Cluster, "c", r)
		return r
	}
	w.turn(func(e edits) {
		e.set(xdstypes.Secret, "client", secret("client", other.Certificate, good.PrivateKey))
		e.set(xdstypes.Endpoints, "c", endpoints("c", port))
		shows(e, time.Second)
	})
	eventually(t, "the secret is refused", func() bool { return w.refusals()["client"].Message != "" })
	var edited resource.Resource
	w.turn(func(e edits) { edited = shows(e, 2*time.Second) })
	eventually(t, "the cluster is refused", func() bool {
		return w.refusals()["c"].Type == xdstypes.Cluster &&
			w.refusals()["c"].Message != ""
	})
	w.turn(func(e edits) { e.set(xdstypes.Secret, "client", secret("client", good.Certificate, good.PrivateKey)) })
	eventually(t, "the cluster is accepted", ackedFragment(w, xdstypes.Cluster, "c", edited))
	if got := w.refusals(); len(got) != 0 {
		t.Errorf("refused: %v", got)
	}
	if got := w.metrics()["cardea_xds_nacks_total/Cluster"]; got != 1 {
		t.Errorf("%v refusals of clusters, want 1", got)
	}
}
