package live

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/test/testcert"
)

// tlsStage is a stage with an HTTPS listener for each spec of a ClientPolicy, from port 443 on. objects are more of
// them; more the fields of the Gateway.
func tlsStage(t *testing.T, specs []string, objects string) *stage {
	t.Helper()
	s := prepare(t, t.TempDir(), archive())
	pair := testcert.SelfSigned("shop.example")
	gateway := gatewayFile(80)
	for i := range specs {
		gateway += fmt.Sprintf("  - {name: l%d, port: %d, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n",
			i, 443+i)
	}
	s.write("gateway.yaml", gateway)
	s.write("secret.yaml", secretFile(pair.Certificate, pair.PrivateKey))
	s.write("blue.yaml", serviceFile("blue", "blue"))
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	for i, spec := range specs {
		s.write(fmt.Sprintf("policy-%d.yaml", i), tlsPolicy(i, spec))
	}
	s.write("objects.yaml", objects)
	s.start()
	s.Ready(t)
	for i := range specs {
		s.says(fmt.Sprintf("ClientPolicy/shop/l%d", i), "web: Accepted=True", "web: cardea.dev/Programmed=True")
	}
	return s
}

// tlsPolicy is the ClientPolicy of a listener of tlsStage.
func tlsPolicy(i int, spec string) string {
	return strings.Replace(clientPolicy(fmt.Sprintf("l%d", i), "tls: {"+spec+"}"), "name: web}",
		fmt.Sprintf("name: web, sectionName: l%d}", i), 1)
}

// configMapFile is a ConfigMap in namespace shop.
func configMapFile(name, key string, text []byte) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: shop}\ndata: {%s: %s}\n",
		name, key, strconv.Quote(string(text)))
}

// ofConfigMap is a reference to a ConfigMap.
func ofConfigMap(name string) string { return `[{group: "", kind: ConfigMap, name: ` + name + `}]` }

// secured makes a request over TLS at a listener of tlsStage, and tells what was spoken.
func (s *stage) secured(i int, config *tls.Config) (tls.ConnectionState, error) {
	config = config.Clone()
	config.ServerName, config.InsecureSkipVerify = "shop.example", true
	conn, err := (&tls.Dialer{Config: config}).DialContext(s.t.Context(), "tcp", s.at(443+i))
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer conn.Close()
	if config.NextProtos == nil {
		err = served(s.t.Context(), conn)
	}
	return conn.(*tls.Conn).ConnectionState(), err
}

// shows is a client that shows a certificate.
func shows(pair testcert.Pair) *tls.Config {
	certificate := pair.TLSCertificate()
	return &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &certificate, nil
	}}
}

// TestTheLastGoodAuthority: while what says who signs clients' certificates has a mistake or is gone, those are let in
// that were before, and nobody else.
func TestTheLastGoodAuthority(t *testing.T) {
	t.Parallel()
	ca, other := signer("ca"), signer("other")
	known, unknown := e2e.ClientBy(ca, "known"), e2e.ClientBy(other, "unknown")
	s := tlsStage(t, []string{"clientValidation: {caCertificateRefs: " + ofConfigMap("ca") + "}"},
		configMapFile("ca", "ca.crt", ca.Certificate))
	judged := func(step string, in, out testcert.Pair) {
		t.Helper()
		if _, err := s.secured(0, shows(in)); err != nil {
			t.Errorf("%s: who is known is refused: %v", step, err)
		}
		if _, err := s.secured(0, shows(out)); err == nil {
			t.Errorf("%s: who is not known is let in", step)
		}
	}
	judged("at first", known, unknown)
	s.write("objects.yaml", configMapFile("ca", "ca.crt", []byte("none")))
	s.says("ClientPolicy/shop/l0", "web: Accepted=True", "web: ResolvedRefs=False InvalidEntry")
	judged("with a mistake", known, unknown)
	s.noted("ConfigMap/shop/ca", kind.StaleAnnotation, "entry ca.crt of the ConfigMap")
	s.remove("objects.yaml")
	s.says("ClientPolicy/shop/l0", "web: ResolvedRefs=False ConfigMapNotFound", "web: cardea.dev/Programmed=True")
	judged("without it", known, unknown)
	s.write("objects.yaml", configMapFile("ca", "ca.crt", other.Certificate))
	s.says("ClientPolicy/shop/l0", "web: ResolvedRefs=True", "web: cardea.dev/Programmed=True")
	e2e.Eventually(t, func() error { // the certificate of an authority arrives by itself
		_, err := s.secured(0, shows(unknown))
		return err
	})
	judged("with another one", unknown, known)
}

// TestHowTLSIsSpoken: a client that speaks what a ClientPolicy states is served, and one that doesn't is not.
func TestHowTLSIsSpoken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		spec           string
		takes, refuses *tls.Config
		version, suite uint16
	}{
		{spec: `minVersion: "1.3"`, takes: &tls.Config{MinVersion: tls.VersionTLS13},
			refuses: &tls.Config{MaxVersion: tls.VersionTLS12},
			version: tls.VersionTLS13},
		{spec: `maxVersion: "1.2"`, takes: &tls.Config{}, refuses: &tls.Config{MinVersion: tls.VersionTLS13},
			version: tls.VersionTLS12},
		{spec: `minVersion: "1.0", maxVersion: "1.1", cipherSuites: [ECDHE-ECDSA-AES128-SHA]`,
			takes: &tls.Config{MinVersion: tls.VersionTLS10}, refuses: &tls.Config{MinVersion: tls.VersionTLS12},
			version: tls.VersionTLS11},
		{spec: `maxVersion: "1.2", cipherSuites: [ECDHE-ECDSA-AES256-GCM-SHA384]`,
			takes: &tls.Config{}, refuses: &tls.Config{CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}},
			version: tls.VersionTLS12, suite: tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384},
		{spec: `curves: [P-384]`, takes: &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}},
			refuses: &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256}}, version: tls.VersionTLS13},
		{spec: `alpn: [http/1.1]`, takes: &tls.Config{NextProtos: []string{"h2", "http/1.1"}},
			refuses: &tls.Config{MaxVersion: tls.VersionTLS11}, version: tls.VersionTLS13},
	}
	var specs []string
	for _, test := range tests {
		specs = append(specs, test.spec)
	}
	s := tlsStage(t, specs, "")
	for i, test := range tests {
		state, err := s.secured(i, test.takes)
		if err != nil || state.Version != test.version || test.suite != 0 && state.CipherSuite != test.suite {
			t.Errorf("%s: %s %s (%v)", test.spec, tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite), err)
		}
		if len(test.takes.NextProtos) > 0 && state.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%s: the protocol is %q", test.spec, state.NegotiatedProtocol)
		}
		if _, err := s.secured(i, test.refuses); err == nil {
			t.Errorf("%s: a client is served that speaks something else", test.spec)
		}
	}
}

// TestSignatureAlgorithms: what clients sign, and what is signed for them, is signed as a ClientPolicy states.
func TestSignatureAlgorithms(t *testing.T) {
	t.Parallel()
	s := tlsStage(t, []string{
		"signatureAlgorithms: [ecdsa_secp256r1_sha256]", "signatureAlgorithms: [rsa_pss_rsae_sha256]",
	}, "")
	if _, err := s.secured(0, &tls.Config{}); err != nil {
		t.Errorf("the certificate's algorithm is among them: %v", err)
	}
	if _, err := s.secured(1, &tls.Config{}); err == nil {
		t.Error("a certificate is shown that can't be signed with")
	}
}

// TestSessionTickets: a session is resumed by its ticket, unless a ClientPolicy gives none, or asks for certificates.
func TestSessionTickets(t *testing.T) {
	t.Parallel()
	s := tlsStage(t, []string{"sessionTickets: true", "sessionTickets: false", "clientValidation: {mode: Request}"}, "")
	for i, want := range []bool{true, false, false} {
		config := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		if _, err := s.secured(i, config); err != nil {
			t.Fatal(err)
		}
		if again, err := s.secured(i, config); err != nil || again.DidResume != want {
			t.Errorf("listener %d: resumed %v (%v), want %v", i, again.DidResume, err, want)
		}
	}
}

// stalled is a connection on which nothing gets to the other end but the first message.
type stalled struct {
	net.Conn
	sent bool
}

func (c *stalled) Write(b []byte) (int, error) {
	if c.sent {
		return len(b), nil
	}
	c.sent = true
	return c.Conn.Write(b)
}

// stalls begins a handshake that does not come to its end.
func (s *stage) stalls(i int) net.Conn {
	s.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.at(443+i))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(e2e.WaitTimeout))
	if err := tls.Client(&stalled{Conn: conn}, trusting("http/1.1")).Handshake(); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// TestHandshakeTimeout: who has shown the name of the host, and goes on with nothing, is cut off. Where nothing is
// stated that takes longer.
func TestHandshakeTimeout(t *testing.T) {
	t.Parallel()
	s := tlsStage(t, []string{"handshakeTimeout: 50ms", "alpn: [http/1.1]"}, "")
	usual := s.stalls(1)
	ends(t, s.stalls(0))
	_ = usual.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := io.ReadAll(usual); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("where nothing is stated, the connection has ended, too: %v", err)
	}
}

// TestFingerprints: a client's first message has fingerprints where a ClientPolicy wants them, for formats.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	s := tlsStage(t, []string{"fingerprints: [JA3, JA4]", "fingerprints: [JA3]", "fingerprints: [JA4]", "curves: [P-256]"},
		`apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: seen, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]
  headers: {response: {set: [{name: x-print, format: "JA3=%TLS_JA3_FINGERPRINT% JA4=%TLS_JA4_FINGERPRINT%"}]}}
`)
	for i, want := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
		answer := s.ask(fmt.Sprintf("GET https://shop.example:%d/", 443+i))
		got := answer.Header.Get("X-Print")
		if has := !strings.Contains(got, "JA3= "); has != want[0] {
			t.Errorf("listener %d: %q", i, got)
		}
		if has := strings.Contains(got, "JA4=t13"); has != want[1] {
			t.Errorf("listener %d: %q", i, got)
		}
	}
}

// crl is a list of an authority, of certificates that it has revoked.
func crl(t *testing.T, by testcert.Pair, revoked ...testcert.Pair) []byte {
	t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(time.Now().UnixNano()), ThisUpdate: time.Now().Add(-time.Hour),
		NextUpdate: time.Now().AddDate(1, 0, 0)}
	for _, one := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: one.Leaf.SerialNumber, RevocationTime: time.Now().Add(-time.Minute),
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, by.Leaf, by.Signer)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

// signer is an authority that may sign lists of revoked certificates, too.
func signer(name string) testcert.Pair {
	return testcert.New(x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil)
}

// TestClientCertificates: which clients get in by hashes, revocations and times.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ca := signer("signer")
	good, other, revoked := e2e.ClientBy(ca, "good"), e2e.ClientBy(ca, "other"), e2e.ClientBy(ca, "revoked")
	expired := testcert.New(x509.Certificate{Subject: good.Leaf.Subject, NotBefore: time.Now().AddDate(-1, 0, 0),
		NotAfter: time.Now().AddDate(0, 0, -1), ExtKeyUsage: good.Leaf.ExtKeyUsage}, &ca)
	own := testcert.SelfSigned("own")
	certificate, key := sha256.Sum256(good.Leaf.Raw), sha256.Sum256(good.Leaf.RawSubjectPublicKeyInfo)
	self := sha256.Sum256(own.Leaf.Raw)
	hash, spki := hex.EncodeToString(certificate[:]), base64.StdEncoding.EncodeToString(key[:])
	signed := "caCertificateRefs: " + ofConfigMap("ca")
	specs := []string{
		signed + ", certificateHashes: [" + strings.ToUpper(hash) + "]",
		signed + ", spkiHashes: [" + strconv.Quote(spki) + "]",
		"certificateHashes: [" + hex.EncodeToString(self[:]) + "]",
		signed + ", crl: {refs: " + ofConfigMap("crl") + "}",
		signed + ", crl: {refs: " + ofConfigMap("crl") + ", onlyLeaf: true}",
		signed, signed + ", allowExpired: true",
		signed + ", mode: VerifyIfGiven, crl: {refs: " + ofConfigMap("crl") + "}",
	}
	for i := range specs {
		specs[i] = "clientValidation: {" + specs[i] + "}"
	}
	s := tlsStage(t, specs, configMapFile("ca", "ca.crt", ca.Certificate)+"---\n"+
		configMapFile("crl", "ca.crl", crl(t, ca, revoked)))
	for i, test := range []struct{ takes, refuses []testcert.Pair }{
		{[]testcert.Pair{good}, []testcert.Pair{other, own}}, {[]testcert.Pair{good}, []testcert.Pair{other, own}},
		{[]testcert.Pair{own}, []testcert.Pair{good}}, {[]testcert.Pair{good, other}, []testcert.Pair{revoked, own}},
		{[]testcert.Pair{good, other}, []testcert.Pair{revoked, own}},
		{[]testcert.Pair{good, revoked}, []testcert.Pair{expired, own}},
		{[]testcert.Pair{good, expired}, []testcert.Pair{own}},
		{[]testcert.Pair{good, other}, []testcert.Pair{revoked, own}},
	} {
		for _, pair := range test.takes {
			if _, err := s.secured(i, shows(pair)); err != nil {
				t.Errorf("%s: %s: %v", specs[i], pair.Leaf.Subject, err)
			}
		}
		for _, pair := range test.refuses {
			if _, err := s.secured(i, shows(pair)); err == nil {
				t.Errorf("%s: %s gets in", specs[i], pair.Leaf.Subject)
			}
		}
		optional := strings.Contains(specs[i], "VerifyIfGiven")
		if _, err := s.secured(i, &tls.Config{}); (err == nil) != optional {
			t.Errorf("%s: who shows no certificate: %v", specs[i], err)
		}
	}
}

// TestRevocationDrainsNothing: another list of revoked certificates, and another authority, is what new connections are
// judged by. Those that are open stay so.
func TestRevocationDrainsNothing(t *testing.T) {
	t.Parallel()
	ca, next := signer("signer"), signer("next")
	client, later := e2e.ClientBy(ca, "client"), e2e.ClientBy(next, "later")
	s := tlsStage(t, []string{"clientValidation: {caCertificateRefs: " + ofConfigMap("ca") + ", crl: {refs: " +
		ofConfigMap("crl") + ", onlyLeaf: true}}"}, configMapFile("ca", "ca.crt", ca.Certificate)+"---\n"+
		configMapFile("crl", "ca.crl", crl(t, ca)))
	config := shows(client)
	config.ServerName, config.InsecureSkipVerify = "shop.example", true
	open := s.line(t, config)
	if err := open.get("shop.example"); err != nil {
		t.Fatal(err)
	}
	before := s.counters("cardea_xds_responses_total")
	s.write("objects.yaml", configMapFile("ca", "ca.crt", append(ca.Certificate, next.Certificate...))+"---\n"+
		configMapFile("crl", "ca.crl", append(crl(t, ca, client), crl(t, next)...)))
	e2e.Eventually(t, func() error {
		if _, err := s.secured(0, shows(client)); err == nil {
			return fmt.Errorf("a certificate that is revoked still gets in")
		}
		_, err := s.secured(0, shows(later))
		return err
	})
	if err := open.get("shop.example"); err != nil {
		t.Errorf("a connection that is open: %v", err)
	}
	if sent := s.sent(before); sent != "Secret" {
		t.Errorf("another list sent %q, want Secret only", sent)
	}
}
