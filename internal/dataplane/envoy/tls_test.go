package envoy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/test/testcert"
)

// testSecret is a certificate that it signed itself, for a name.
func testSecret(t testing.TB, name, commonName string) model.Secret {
	t.Helper()
	pair := testcert.SelfSigned(commonName)
	return model.Secret{
		Ref:         model.Ref(model.KindSecret, "shop", name),
		Certificate: pair.Certificate,
		PrivateKey:  pair.PrivateKey,
	}
}

// TestListenersBySNI: the name in the handshake chooses certificate and table, the most specific listener first.
func TestListenersBySNI(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	listeners := []struct{ section, hostname string }{{"one", "a.sni.test"}, {"wild", "*.sni.test"}, {"any", ""}}
	w.apply(func(b *flow.Batch) {
		var all []model.Listener
		for _, l := range listeners {
			secret := testSecret(t, l.section, l.section+".cert")
			w.secrets.Set(b, secret.Ref, secret)
			listener := testListener(l.section, l.hostname)
			listener.Certificates = []model.ObjectRef{secret.Ref}
			all = append(all, listener)
			w.addBackend(b, service(l.section), startBackend(t, l.section))
			w.serve(b, 1, 443, l.section, model.HostnameDomain(l.hostname), model.Rule{
				Key: testRuleKey(l.section), Matches: []model.Match{{}}, Backends: to(l.section),
			})
		}
		w.serve(b, 0, 443, "any", "*", model.Rule{
			Key: testRuleKey("redirect"), Matches: []model.Match{prefix("/old")},
			Redirect: &model.Redirect{StatusCode: 302, Path: toPath("/new")},
		})
		w.addPort(b, 443, bind, model.HTTPS, all...)
	})
	startProxy(t, w.resources())
	get := func(serverName, host, uri string) (*http.Response, string) {
		c := client(t, &tls.Config{InsecureSkipVerify: true, ServerName: serverName})
		c.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", bind))
		}
		req, err := http.NewRequest(http.MethodGet, "https://"+serverName+uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp, resp.TLS.PeerCertificates[0].Subject.CommonName
	}
	for _, c := range []struct{ name, section string }{
		{"a.sni.test", "one"}, {"b.sni.test", "wild"}, {"c.b.sni.test", "wild"}, {"sni.test", "any"}, {"other.test", "any"},
	} {
		resp, certificate := get(c.name, c.name, "/")
		if certificate != c.section+".cert" || resp.Header.Get("From-Backend") != c.section || resp.ProtoMajor != 2 {
			t.Errorf("%s got %s, backend %q, %s", c.name, certificate, resp.Header.Get("From-Backend"), resp.Proto)
		}
	}
	if resp, _ := get("other.test", "other.test", "/old"); resp.Header.Get("Location") != "https://other.test/new" {
		t.Errorf("redirect to %q", resp.Header.Get("Location"))
	}
	// A Host that belongs to another listener than the handshake's name did.
	for _, c := range []struct{ name, host string }{
		{"a.sni.test", "b.sni.test"}, {"a.sni.test", "other.test"}, {"b.sni.test", "a.sni.test"},
		{"other.test", "a.sni.test"}, {"other.test", "b.sni.test"},
	} {
		if resp, _ := get(c.name, c.host, "/"); resp.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("Host %s at %s: %d, want 421", c.host, c.name, resp.StatusCode)
		}
	}
	if resp, _ := get("b.sni.test", "c.sni.test", "/"); resp.StatusCode != http.StatusOK {
		t.Errorf("another Host of the same listener: %d", resp.StatusCode)
	}
}

// secureStatus is that of an answer over TLS; 0 if the connection is closed before there is one.
func secureStatus(t *testing.T, port int32, host string) int {
	t.Helper()
	c := client(t, &tls.Config{InsecureSkipVerify: true, ServerName: host})
	c.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	}
	resp, err := c.Get("https://" + host + "/")
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
