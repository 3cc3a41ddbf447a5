package live

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/test/testcert"
)

// The headers by which a load balancer says that a connection comes from 203.0.113.7, port 4660, to 192.0.2.1, port 80;
// and what a load balancer sends that checks whether the port is open.
const (
	proxyV1    = "PROXY TCP4 203.0.113.7 192.0.2.1 4660 80\r\n"
	proxyV2    = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x07\xc0\x00\x02\x01\x12\x34\x00\x50"
	proxyLocal = "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"
)

// proxied is a stage whose ports want different headers of the PROXY protocol. Of those that are optional the one of V1
// takes no other version.
func proxied(t *testing.T) *stage {
	t.Helper()
	pair := testcert.SelfSigned("shop.example")
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80, 81, 82, 83)+
		"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n"))
	s.write("secret.yaml", secretFile(pair.Certificate, pair.PrivateKey))
	s.write("blue.yaml", serviceFile("blue", "blue"))
	s.write("route.yaml", routeFile("web", "shop.example", to("blue"))+"---\n"+
		routeFile("office", "office.example", to("blue")))
	for section, spec := range map[string]string{
		"http-80": "proxyProtocol: {}", "http-81": "proxyProtocol: {mode: Optional}",
		"http-82": "proxyProtocol: {mode: Required, versions: [V2]}",
		"http-83": "proxyProtocol: {mode: Optional, versions: [V1]}", "https": "proxyProtocol: {versions: [V1, V2]}",
	} {
		s.write("policy-"+section+".yaml", strings.Replace(clientPolicy(section, spec), "name: web}",
			"name: web, sectionName: "+section+"}", 1))
	}
	s.write("office.yaml", `apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: office, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: office}]
  authorization: {allow: [{name: office, matches: [{clientCIDRs: [203.0.113.0/24]}]}]}
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: seen, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]
  headers: {response: {set: [{name: x-client, format: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"}]}}
`)
	s.start()
	s.Ready(t)
	for _, section := range []string{"http-80", "http-81", "http-82", "http-83", "https"} {
		s.says("ClientPolicy/shop/"+section, "web: Accepted=True", "web: cardea.dev/Programmed=True")
	}
	return s
}

// after makes a request behind a header of the PROXY protocol: the status, and the client's address; "": closed.
func (s *stage) after(t *testing.T, header, host string, port int, config *tls.Config) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.at(port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(e2e.WaitTimeout))
	if _, err := io.WriteString(conn, header); err != nil {
		return ""
	}
	if config != nil {
		conn = tls.Client(conn, config)
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
		return ""
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	return strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", response.Header.Get("X-Client")))
}

// TestProxyProtocol: the address that a load balancer writes counts as the client's. A connection without a header, or
// with one of another version, is closed where one is required.
func TestProxyProtocol(t *testing.T) {
	t.Parallel()
	s := proxied(t)
	own := "200 " + s.after(t, "", "shop.example", 81, nil)[len("200 "):]
	for _, test := range []struct {
		header string
		port   int
		want   string
	}{
		{proxyV1, 80, "200 203.0.113.7"}, {proxyV2, 80, "200 203.0.113.7"}, {proxyLocal, 80, own}, {"", 80, ""},
		{proxyV1, 81, "200 203.0.113.7"}, {proxyV2, 81, "200 203.0.113.7"}, {"", 81, own},
		{proxyV1, 82, ""}, {proxyV2, 82, "200 203.0.113.7"}, {"", 82, ""},
		{proxyV1, 83, "200 203.0.113.7"}, {proxyV2, 83, "400"}, {"", 83, own},
	} {
		if got := s.after(t, test.header, "shop.example", test.port, nil); got != test.want {
			t.Errorf("%q at port %d: %q, want %q", test.header, test.port, got, test.want)
		}
	}
	for header, want := range map[string]string{proxyV1: "200", proxyV2: "200", "": "403"} {
		if got := s.after(t, header, "office.example", 81, nil); got != want {
			t.Errorf("%q of those who may: %q, want %s", header, got, want)
		}
	}
	for header, want := range map[string]string{proxyV1: "200 203.0.113.7", proxyV2: "200 203.0.113.7", "": ""} {
		if got := s.after(t, header, "shop.example", 443, trusting("http/1.1")); got != want {
			t.Errorf("%q before TLS: %q, want %q", header, got, want)
		}
	}
}
