package live

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/test/testcert"
)

// TestCertificatesStay: a listener that serves has its certificate, and the proxy the same source of it, whatever
// changes beside: other hosts and listeners of the port, other certificates, how TLS is spoken, whether clients show
// certificates, connections; and it follows its Secret afterwards. With another source, Envoy 1.40 can leave a listener
// without its certificate (envoyproxy/envoy#47309).
func TestCertificatesStay(t *testing.T) {
	t.Parallel()
	first, second := testcert.SelfSigned("shop.example"), testcert.SelfSigned("shop.example")
	more, ca := testcert.SelfSigned("more.example"), signer("ca")
	https := gatewayFile(80) + "  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n"
	both := https + "  - {name: more, port: 443, hostname: more.example, protocol: HTTPS, " +
		"tls: {certificateRefs: [{name: more}]}}\n"
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml", https)
	s.write("secret.yaml", secretFile(first.Certificate, first.PrivateKey))
	s.write("more.yaml", secretNamed("more", more.Certificate, more.PrivateKey)+"---\n"+
		configMapFile("ca", "ca.crt", ca.Certificate))
	work, err := os.MkdirTemp("", "e2e-") // not t.TempDir: a Unix socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	s.start(func(o *standalone.Options) { o.WorkDir = work })
	s.Ready(t)
	client, sources := shows(e2e.ClientBy(ca, "known")), s.secretSources(work)
	if len(sources) != 1 {
		t.Fatalf("the secrets of listeners have the sources %v, want one", sources)
	}
	edit := func(file, text, object, says string, certificates ...testcert.Pair) {
		t.Helper()
		_, before, _ := s.conditions(object) // 0: there is none yet
		s.write(file, text)
		e2e.Eventually(t, func() error {
			if _, now, err := s.conditions(object); err != nil || now <= before {
				return fmt.Errorf("%s is of generation %d, %v", object, now, err)
			}
			return s.saysNow(object, says)
		})
		now := s.secretSources(work)
		for name, source := range now {
			if was, there := sources[name]; there && was != source {
				t.Errorf("the secret %s comes from %s, and came from %s before", name, source, was)
			}
		}
		maps.Copy(sources, now)
		for _, certificate := range certificates {
			if err := s.shown(client, certificate); err != nil {
				t.Error(err)
			}
		}
	}
	const programmed, gateway, policy = "web: cardea.dev/Programmed=True", "gateway/shop/web", "ClientPolicy/shop/tls"
	spoken := func(fields string) {
		t.Helper()
		edit("tls.yaml", clientPolicy("tls", "tls: {"+fields+"}"), policy, programmed, first, more)
	}
	edit("gateway.yaml", both, gateway, "more: Programmed=True", first, more)
	edit("other.yaml", routeFile("other", "other.example", to("green")), "httproute/shop/other", programmed, first, more)
	spoken("minVersion: '1.3'")
	spoken("minVersion: '1.3', alpn: [http/1.1]")
	spoken("clientValidation: {caCertificateRefs: " + ofConfigMap("ca") + "}")
	spoken("clientValidation: {mode: VerifyIfGiven, caCertificateRefs: " + ofConfigMap("ca") + "}")
	edit("connections.yaml", clientPolicy("connections", "connections: {max: 1000}"), "ClientPolicy/shop/connections",
		programmed, first, more)
	edit("gateway.yaml", strings.Replace(both, "[{name: shop}]", "[{name: shop}, {name: more}]", 1), gateway,
		"https: Programmed=True", first, more)
	edit("gateway.yaml", https, gateway, "https: Programmed=True", first)
	s.write("secret.yaml", secretFile(second.Certificate, second.PrivateKey))
	e2e.Eventually(t, func() error { return s.shown(client, second) })
}

// shown connects anew, to the host of a certificate, and wants that one.
func (s *stage) shown(client *tls.Config, want testcert.Pair) error {
	config := client.Clone()
	config.ServerName, config.InsecureSkipVerify = want.Leaf.DNSNames[0], true
	conn, err := s.dial(s.t.Context(), config)
	if err != nil {
		return fmt.Errorf("%s: %w", config.ServerName, err)
	}
	defer conn.Close()
	if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]; !got.Equal(want.Leaf) {
		return fmt.Errorf("%s has the certificate of %v, number %d", config.ServerName, got.DNSNames, got.SerialNumber)
	}
	return nil
}

// secretSources waits until no listener of the only proxy waits for its turn, and returns the encoded sources of the
// secrets that they have, by the secrets' names.
func (s *stage) secretSources(work string) map[string]string {
	s.t.Helper()
	sockets, err := filepath.Glob(filepath.Join(work, "*", "admin"))
	if err != nil || len(sockets) != 1 {
		s.t.Fatalf("sockets %v, %v", sockets, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", sockets[0])
		}}}
	var dump struct {
		Configs []struct {
			Active  any             `json:"active_state"`
			Warming json.RawMessage `json:"warming_state"`
		}
	}
	e2e.Eventually(s.t, func() error {
		dump.Configs = nil
		text, err := process.FetchPage(s.t.Context(), client, "http://envoy/config_dump?resource=dynamic_listeners")
		if err == nil {
			err = json.Unmarshal(text, &dump)
		}
		for _, l := range dump.Configs {
			if l.Warming != nil {
				err = errors.New("a listener waits for its secrets")
			}
		}
		return err
	})
	found := map[string]string{}
	for _, l := range dump.Configs {
		if err := sourcesIn(l.Active, found); err != nil {
			s.t.Fatal(err)
		}
	}
	return found
}

// sourcesIn finds the sources of secrets in a message in JSON.
func sourcesIn(message any, found map[string]string) (err error) {
	switch m := message.(type) {
	case []any:
		for _, member := range m {
			err = errors.Join(err, sourcesIn(member, found))
		}
	case map[string]any:
		for _, member := range m {
			err = errors.Join(err, sourcesIn(member, found))
		}
		source, ok := m["sds_config"]
		if !ok {
			return err
		}
		text, _ := json.Marshal(source) // which was decoded from it
		var config corev3.ConfigSource
		if err := protojson.Unmarshal(text, &config); err != nil {
			return err
		}
		encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(&config)
		if err != nil {
			return err
		}
		name, of := fmt.Sprint(m["name"]), hex.EncodeToString(encoded)
		if other, there := found[name]; there && other != of {
			return fmt.Errorf("the secret %s has the sources %s and %s", name, other, of)
		}
		found[name] = of
	}
	return err
}
