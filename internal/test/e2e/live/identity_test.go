package live

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"github.com/spiffe/go-spiffe/v2/spiffetls/tlsconfig"
	"github.com/spiffe/go-spiffe/v2/workloadapi"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/deliver/workload"
	"cardea.dev/cardea/internal/test/testcert"
)

// svid is a certificate with SPIFFE IDs, that an authority signs.
func svid(by testcert.Pair, ids ...string) testcert.Pair {
	var uris []*url.URL
	for _, id := range ids {
		u, err := url.Parse(id)
		if err != nil {
			panic(err)
		}
		uris = append(uris, u)
	}
	return testcert.New(x509.Certificate{URIs: uris, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, &by)
}

// below is an authority that another one has signed.
func below(by testcert.Pair, name string) testcert.Pair {
	return testcert.New(x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, &by)
}

// showsChain is a client that shows a certificate, and those above it.
func showsChain(leaf testcert.Pair, above ...testcert.Pair) *tls.Config {
	chain := leaf.TLSCertificate()
	for _, pair := range above {
		chain.Certificate = append(chain.Certificate, pair.Leaf.Raw)
	}
	return &tls.Config{
		ServerName: "shop.example", InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &chain, nil },
	}
}

// bundleFile is a ClusterTrustBundle.
func bundleFile(name string, text []byte) string {
	return fmt.Sprintf("apiVersion: certificates.k8s.io/v1\nkind: ClusterTrustBundle\nmetadata: {name: %q}\n"+
		"spec: {trustBundle: %s}\n", name, strconv.Quote(string(text)))
}

// identityStage is a stage whose HTTPS listener asks for certificates of two bundles, and lets one ServiceAccount in.
func identityStage(t *testing.T, configMap, trustBundle []byte, change ...func(*standalone.Options)) *stage {
	t.Helper()
	s := prepare(t, t.TempDir(), archive())
	pair := testcert.SelfSigned("shop.example")
	s.write("gateway.yaml", gatewayFile(80)+
		"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n"+
		"  tls: {frontend: {default: {validation: {caCertificateRefs: [{group: \"\", kind: ConfigMap, name: spire}, "+
		"{group: certificates.k8s.io, kind: ClusterTrustBundle, name: \"cardea.dev:identity:bundle\"}]}}}}\n")
	s.write("secret.yaml", secretFile(pair.Certificate, pair.PrivateKey))
	s.write("blue.yaml", serviceFile("blue", "blue"))
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.write("policy.yaml", `apiVersion: cardea.dev/v1alpha1
kind: AccessPolicy
metadata: {name: agents, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: https}]
  rules: [{name: agent, sources: [{type: ServiceAccount, serviceAccount: {name: agent}}]}]
`)
	s.write("spire.yaml", configMapFile("spire", "ca.crt", configMap))
	if trustBundle != nil {
		s.write("bundle.yaml", bundleFile("cardea.dev:identity:bundle", trustBundle))
	}
	s.start(append(change, func(o *standalone.Options) {
		if o.IdentityBundle != "" {
			o.IdentityBundle = filepath.Join(s.Dir, o.IdentityBundle)
		}
	})...)
	s.Ready(t)
	return s
}

const (
	agentID   = "spiffe://cluster.local/ns/shop/sa/agent"
	visitorID = "spiffe://cluster.local/ns/shop/sa/visitor"
)

var errNotServed = errors.New("the connection was not taken")

// as makes a call with a client's certificate and a header, and returns the status.
func (s *stage) as(config *tls.Config, header string) (status int, err error) {
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "https://"+s.at(443)+"/", nil)
	if err != nil {
		return 0, err
	}
	request.Host = "shop.example"
	if header != "" {
		request.Header.Set("X-Forwarded-Client-Cert", header)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNotServed, err)
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

// TestIdentities: callers are known by the URI of their certificate, whatever bundle its authority is in and however
// many authorities are between, and not by what they say of themselves.
func TestIdentities(t *testing.T) {
	t.Parallel()
	spire, own, foreign := testcert.NewAuthority("spire"), testcert.NewAuthority("own"), testcert.NewAuthority("foreign")
	upper := below(spire, "upper")
	lower := below(upper, "lower")
	ordinary := svid(spire, agentID) // signs nothing, but has a key
	s := identityStage(t, spire.Certificate, own.Certificate)
	claims := "URI=" + agentID
	for _, test := range []struct {
		about  string
		config *tls.Config
		header string
		status int // 0: no connection
	}{
		{"of the first bundle", showsChain(svid(spire, agentID)), "", 200},
		{"of the second bundle", showsChain(svid(own, agentID)), "", 200},
		{"of another authority", showsChain(svid(foreign, agentID)), "", 0},
		{"a whole chain", showsChain(svid(lower, agentID), lower, upper), "", 200},
		{"a chain of one who is not let in", showsChain(svid(lower, visitorID), lower, upper), "", 403},
		{"a chain with a gap", showsChain(svid(lower, agentID), lower), "", 0},
		{"a leaf without its chain", showsChain(svid(lower, agentID)), "", 0},
		{"signed by a leaf", showsChain(svid(ordinary, agentID), ordinary), "", 0},
		{"a foreign chain, with a trusted certificate beside", showsChain(svid(foreign, agentID), spire), "", 0},
		{"another ServiceAccount", showsChain(svid(own, visitorID)), "", 403},
		{"another ServiceAccount that says who it is", showsChain(svid(own, visitorID)), claims, 403},
		{"no URI, and says who it is", showsChain(svid(own)), claims, 403},
		{"two URIs", showsChain(svid(own, visitorID, agentID)), "", 403},
		{"a longer path", showsChain(svid(own, agentID+"/more")), "", 403},
		{"another trust domain", showsChain(svid(own, "spiffe://example.org/ns/shop/sa/agent")), "", 403},
		{"no certificate, and says who it is", &tls.Config{InsecureSkipVerify: true, ServerName: "shop.example"}, claims, 0},
	} {
		status, err := s.as(test.config, test.header)
		if status != test.status || errors.Is(err, errNotServed) != (test.status == 0) {
			t.Errorf("%s: %d, %v; want %d", test.about, status, err, test.status)
		}
	}
}

// TestAuthoritiesRotate: authorities come into a bundle and leave it. Only Secrets are sent, open connections stay, and
// a caller whose authority is in the bundle is served all the time.
func TestAuthoritiesRotate(t *testing.T) {
	t.Parallel()
	spire, old, next := testcert.NewAuthority("spire"), testcert.NewAuthority("old"), testcert.NewAuthority("next")
	s := identityStage(t, spire.Certificate, old.Certificate)
	before := s.counters("cardea_xds_responses_total")
	open := s.line(t, showsChain(svid(old, agentID)))
	asks := func(config *tls.Config, want int) {
		t.Helper()
		e2e.Eventually(t, func() error {
			if status, err := s.as(showsChain(svid(spire, agentID)), ""); status != 200 {
				t.Errorf("of the other bundle: %d, %v", status, err)
			}
			if err := open.get("shop.example"); err != nil {
				t.Errorf("the connection that is open: %v", err)
			}
			if status, err := s.as(config, ""); status != want {
				return fmt.Errorf("%d, %w; want %d", status, err, want)
			}
			return nil
		})
	}
	asks(showsChain(svid(next, agentID)), 0)
	s.write("bundle.yaml", bundleFile("cardea.dev:identity:bundle", append(old.Certificate, next.Certificate...)))
	asks(showsChain(svid(next, agentID)), 200)
	asks(showsChain(svid(old, agentID)), 200)
	s.write("bundle.yaml", bundleFile("cardea.dev:identity:bundle", next.Certificate))
	asks(showsChain(svid(old, agentID)), 0)
	asks(showsChain(svid(next, agentID)), 200)
	if sent := s.sent(before); sent != "Secret" {
		t.Errorf("a rotation sent %q, want Secret only", sent)
	}
}

// TestIdentitiesOfAFolder: programs on the machine get their certificates by a socket each, over SPIFFE's Workload API,
// and the Gateway trusts the bundle that is written to the folder.
func TestIdentitiesOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	identities := []workload.Identity{
		{Namespace: "shop", Account: "agent", Socket: filepath.Join(dir, "agent")},
		{Namespace: "shop", Account: "visitor", Socket: filepath.Join(dir, "visitor")},
	}
	s := identityStage(t, testcert.NewAuthority("spire").Certificate, nil, func(o *standalone.Options) {
		o.Identities, o.IdentityBundle = identities, "bundle.yaml"
	})
	for i, want := range []int{200, 403} {
		source, err := workloadapi.NewX509Source(t.Context(),
			workloadapi.WithClientOptions(workloadapi.WithAddr("unix://"+identities[i].Socket)))
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		config := tlsconfig.MTLSWebClientConfig(source, nil)
		config.ServerName, config.InsecureSkipVerify = "shop.example", true
		e2e.Eventually(t, func() error {
			if status, err := s.as(config, ""); status != want {
				return fmt.Errorf("%s: %d, %w; want %d", identities[i].Account, status, err, want)
			}
			return nil
		})
	}
}
