package live

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestExpectContinue: who answers "Expect: 100-continue" is the proxy, unless a ClientPolicy leaves it to the backend,
// which may then refuse a request before its body is sent.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden) // without a look at the body
	}))
	t.Cleanup(backend.Close)
	at := netip.MustParseAddrPort(backend.Listener.Addr().String())
	for spec, want := range map[string]string{
		"http: {proxy100Continue: false}": "HTTP/1.1 100 Continue",
		"http: {proxy100Continue: true}":  "HTTP/1.1 403 Forbidden",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			s := withClientPolicy(t, spec)
			s.write("strict.yaml", serviceOn("strict", int(at.Port())))
			s.write("route.yaml", routeFile("web", "shop.example", to("strict")))
			s.soon("GET http://shop.example/ -> 403")
			conn := s.open(t)
			_, err := io.WriteString(conn,
				"POST / HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			if got := strings.TrimSpace(line); err != nil || got != want {
				t.Errorf("answered %q (%v), want %s", got, err, want)
			}
		})
	}
}
