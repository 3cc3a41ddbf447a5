package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/kinds"
)

// Whatever else listens where a Cardea is looked for is called what it is, and nothing of it is taken for an answer.
func TestGetFromWhatIsNoCardea(t *testing.T) {
	answers := func(code int, kind, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, story := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"a page that is not there": {answers(404, "text/html; charset=utf-8", "<h1>Not Found</h1>"),
			"(it answers 404 Not Found, text/html)"},
		"a page":     {answers(200, "text/html", "<h1>Hello</h1>"), "(it answers 200 OK, text/html)"},
		"other JSON": {answers(200, "application/json", `{"login": "please"}`), "(it answers 200 OK, application/json)"},
		"an empty list": {answers(200, "application/json", `{"kind": "List", "items": []}`),
			"(it answers 200 OK, application/json)"},
		"a Kubernetes": {answers(403, "application/json", `{"kind": "Status", "apiVersion": "v1", "message": "forbidden"}`),
			"(it answers 403 Forbidden, application/json)"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/login" {
				http.Redirect(w, r, "/login", http.StatusFound)
			}
		}, "(it answers 302 Found, text/html)"},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n")
				conn.Close()
			}
		}, "malformed HTTP response"},
		"a hang-up": {func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.Close()
			}
		}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(story.answer))
			defer server.Close()
			for _, what := range []string{"", "httproutes", "httproute web", "gateways -A", "gateways -o json"} {
				out, code := run(t, "get --server "+server.URL+" "+what)
				want := "Error: " + server.URL + " is not Cardea's admin API ("
				if code != 1 || !strings.HasPrefix(out, want) || !strings.Contains(out, story.want) ||
					!strings.Contains(out, "--server or $CARDEA_SERVER") {
					t.Errorf("get %s: %d, %s", what, code, out)
				}
			}
		})
	}
}

// Who can't be reached is not called anything.
func TestGetFromNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for server, want := range map[string]string{
		"http://" + l.Addr().String(): "start one with `cardea standalone DIR`, " +
			"or set the address of Cardea's admin API with --server or $CARDEA_SERVER",
		"gopher://" + l.Addr().String(): `unsupported protocol scheme "gopher"`,
	} {
		if out, code := run(t, "get --server "+server); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: %d, %s", server, code, out)
		}
	}
}

// run is a command line and all that it prints.
func run(t *testing.T, line string) (out string, code int) {
	var b strings.Builder
	code = Main(t.Context(), strings.Fields(line), Program{Catalog: kinds.NewCatalog()}, &b, &b)
	return b.String(), code
}
