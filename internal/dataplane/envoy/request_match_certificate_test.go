package envoy

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/test/testcert"
)

const spiffeID = "spiffe://td.test/ns/a"

// TestMatchCertificates: a name counts if it is of the kind that is meant and in a certificate of a trusted authority,
// also where a listener lets others pass.
func TestMatchCertificates(t *testing.T) {
	one := func(c extend.CertificateMatch) extend.RequestMatch {
		return parts(extend.RequestParts{Certificates: []extend.CertificateMatch{c}})
	}
	all := []string{"none", "uri", "dns", "subject", "uri as dns", "uri of another", "subject of another"}
	without := func(names ...string) (rest []string) {
		for _, n := range all {
			if !slices.Contains(names, n) {
				rest = append(rest, n)
			}
		}
		return rest
	}
	uri := one(extend.CertificateMatch{URI: spiffeID, Type: extend.Exact})
	cases := map[string]matchCase{
		"uri":     {match: uri, hits: []string{"uri"}, other: without("uri")},
		"not uri": {match: not(uri.RequestParts), hits: without("uri"), other: []string{"uri"}},
		"uri prefix": {match: one(extend.CertificateMatch{URI: "spiffe://td.test/", Type: extend.Prefix}),
			hits: []string{"uri"}, other: without("uri")},
		"dns": {match: one(extend.CertificateMatch{DNS: "A.test", Type: extend.Exact}), hits: []string{"dns"},
			other: without("dns")},
		"dns suffix": {match: one(extend.CertificateMatch{DNS: ".test", Type: extend.Suffix}), hits: []string{"dns"},
			other: without("dns")},
		"subject": {match: one(extend.CertificateMatch{Subject: "CN=a,O=b", Type: extend.Exact}), hits: []string{"subject"},
			other: without("subject")},
	}
	clients, bind := startWithCertificates(t, cases)
	for name, c := range cases {
		for form, status := range map[string][2]int{"allow": {200, 403}, "deny": {403, 200}, "unless": {403, 200}} {
			for i, list := range [][]string{c.hits, c.other} {
				for _, who := range list {
					if got := callAs(t, clients[who], bind, name+" "+form); got != status[i] {
						t.Errorf("%s, %s: client %q: status %d, want %d", name, form, who, got, status[i])
					}
				}
			}
		}
	}
}

// startWithCertificates starts an Envoy that asks for certificates and takes any; the configurations are clients'.
func startWithCertificates(t *testing.T, cases map[string]matchCase) (map[string]*tls.Config, int32) {
	t.Helper()
	subject := pkix.Name{CommonName: "a", Organization: []string{"b"}}
	ours, foreign := testcert.NewAuthority("ours"), testcert.NewAuthority("foreign")
	id, err := url.Parse(spiffeID)
	if err != nil {
		t.Fatal(err)
	}
	clients := map[string]*tls.Config{"none": {InsecureSkipVerify: true}}
	for name, c := range map[string]struct {
		by       testcert.Pair
		template x509.Certificate
	}{
		"uri":                {ours, x509.Certificate{URIs: []*url.URL{id}}},
		"dns":                {ours, x509.Certificate{DNSNames: []string{"a.test"}}},
		"subject":            {ours, x509.Certificate{Subject: subject}},
		"uri as dns":         {ours, x509.Certificate{DNSNames: []string{spiffeID}}},
		"uri of another":     {foreign, x509.Certificate{URIs: []*url.URL{id}, DNSNames: []string{"a.test"}}},
		"subject of another": {foreign, x509.Certificate{Subject: subject}},
	} {
		c.template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		pair := testcert.New(c.template, &c.by).TLSCertificate()
		clients[name] = &tls.Config{InsecureSkipVerify: true, // an authority that the server doesn't name is sent, too
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }}
	}
	w, bind := newStatedWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		secret := testSecret(t, "server", "server.test")
		w.secrets.Set(b, secret.Ref, secret)
		listener := testListener("https", "")
		listener.Certificates = []model.ObjectRef{secret.Ref}
		w.addPort(b, 443, bind, model.HTTPS, listener)
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.addMatches(t, b, 443, "https", cases, nil)
	})
	resources := w.resources()
	for k, r := range resources {
		if k.Type == xdstypes.Listener {
			resources[k] = askingForCertificates(t, r, ours)
		}
	}
	startProxy(t, resources)
	return clients, bind
}

// askingForCertificates is a listener that asks clients for certificates, and takes those of other authorities, too.
func askingForCertificates(t *testing.T, r resource.Resource, authority testcert.Pair) resource.Resource {
	t.Helper()
	l := new(listenerv3.Listener)
	if err := proto.Unmarshal(r.AppendBytes(nil), l); err != nil {
		t.Fatal(err)
	}
	for _, chain := range append(l.FilterChains, l.DefaultFilterChain) {
		config := new(tlsv3.DownstreamTlsContext)
		if chain.GetTransportSocket() == nil {
			continue
		}
		if err := chain.GetTransportSocket().GetTypedConfig().UnmarshalTo(config); err != nil {
			t.Fatal(err)
		}
		config.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{
			ValidationContext: &tlsv3.CertificateValidationContext{
				TrustedCa: &corev3.DataSource{
					Specifier: &corev3.DataSource_InlineBytes{InlineBytes: authority.Certificate},
				},
				TrustChainVerification: tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED,
			},
		}
		chain.TransportSocket.ConfigType = &corev3.TransportSocket_TypedConfig{TypedConfig: message.MustAny(config)}
	}
	text, err := proto.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return resource.Resource{Version: "asking", Parts: []*resource.Part{{Bytes: [][]byte{text}, Size: len(text)}}}
}

func callAs(t *testing.T, config *tls.Config, port int32, route string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/", port), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-case", route)
	resp, err := client(t, config).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
