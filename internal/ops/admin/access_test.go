package admin

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/bodytest"
	"cardea.dev/cardea/internal/test/testcert"
)

const token = "a-token-of-more-than-22-characters"

// files are those of an API for others than this machine's programs.
type files struct{ token, ca, cert, key, clientCert, clientKey string }

func accessFiles(t *testing.T) (f files) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := testcert.NewAuthority("admin")
	server, client := ca.NewServer("localhost"), testcert.New(x509.Certificate{
		Subject: pkix.Name{CommonName: "operator"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &ca)
	return files{write("token", token+"\n"), write("ca.crt", string(ca.Certificate)),
		write("tls.crt", string(server.Certificate)), write("tls.key", string(server.PrivateKey)),
		write("client.crt", string(client.Certificate)), write("client.key", string(client.PrivateKey))}
}

// TestAPIBeyondLoopbackIsForSome: on an address that others reach, the API starts only with TLS and with a word on who
// may ask. At a loopback address nothing has to be stated.
func TestAPIBeyondLoopbackIsForSome(t *testing.T) {
	f := accessFiles(t)
	short, many := filepath.Join(t.TempDir(), "short"), filepath.Join(t.TempDir(), "many")
	if err := os.WriteFile(short, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(many, []byte(token+"\n"+token), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := Access{TokenFile: f.token, Certificate: f.cert, Key: f.key}
	for _, of := range []struct {
		addr   string
		access Access
		want   string // of the error; "": it may listen
	}{
		{"127.0.0.1:0", Access{}, ""},
		{"localhost:0", Access{}, ""},
		{"[::1]:0", Access{}, ""},
		{"127.0.0.1:0", Access{TokenFile: f.token}, ""},
		{"0.0.0.0:9900", whole, ""},
		{":9900", Access{ClientCA: f.ca, Certificate: f.cert, Key: f.key}, ""},
		{":9900", Access{}, "--admin :9900: other machines reach this address"},
		{"0.0.0.0:9900", Access{}, "or listen at 127.0.0.1:9900"},
		{"[::]:9900", Access{}, "--admin-token-file or --admin-client-ca"},
		{"host.example:9900", Access{}, "other machines"},
		{"192.0.2.1:9900", Access{TokenFile: f.token}, "--admin-tls-cert and --admin-tls-key"},
		{"192.0.2.1:9900", Access{Certificate: f.cert, Key: f.key}, "--admin-token-file or --admin-client-ca"},
		{"127.0.0.1:0", Access{ClientCA: f.ca}, "certificates are shown by TLS only"},
		{":9900", Access{TokenFile: f.token, Certificate: f.cert}, "are a pair"},
		{":9900", Access{TokenFile: short, Certificate: f.cert, Key: f.key}, "at least 22"},
		{":9900", Access{TokenFile: many, Certificate: f.cert, Key: f.key}, "one line"},
		{":9900", Access{TokenFile: f.ca + "x", Certificate: f.cert, Key: f.key}, "no such file"},
		{":9900", Access{ClientCA: f.key, Certificate: f.cert, Key: f.key}, "want certificates in PEM"},
		{"9900", Access{}, "want host:port"},
	} {
		c := config(t)
		c.Addr, c.Access = of.addr, of.access
		_, err := New(c)
		if (err == nil) != (of.want == "") || err != nil && !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s %+v: %v, want %q", of.addr, of.access, err, of.want)
		}
	}
	// A name may lead elsewhere than it says: the address counts that is bound.
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := (Access{}).configFor(listener); err == nil || !strings.Contains(err.Error(), "other machines") {
		t.Errorf("bound to all: %v", err)
	}
}

// TestWhoMayAsk: a page is for who shows the token or a certificate of the authority, and probes are for all.
func TestWhoMayAsk(t *testing.T) {
	f := accessFiles(t)
	c := config(t)
	c.Addr, c.Probes = "0.0.0.0:0", "127.0.0.1:0"
	clientCA := filepath.Join(t.TempDir(), "clients.crt")
	trust := func(file string) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(clientCA, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust(f.ca)
	c.Access = Access{TokenFile: f.token, ClientCA: clientCA, Certificate: f.cert, Key: f.key}
	_, port, err := net.SplitHostPort(start(t, c))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("another-token-of-as-many-letters"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := "https://localhost:" + port
	ask := func(shows Credentials, path string) (int, string, error) {
		client, err := shows.NewClient(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Get(path)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, string(body), err
	}
	for _, page := range []string{"/objects", "/metrics", "/healthz", "/debug/flow/input/number", "/debug/pprof/symbol",
		"/nothing"} {
		known := http.StatusOK
		if page == "/nothing" {
			known = http.StatusNotFound
		}
		for name, of := range map[string]struct {
			shows Credentials
			want  int
		}{
			"nothing":       {Credentials{CA: f.ca}, http.StatusUnauthorized},
			"another token": {Credentials{CA: f.ca, TokenFile: other}, http.StatusUnauthorized},
			"the token":     {Credentials{CA: f.ca, TokenFile: f.token}, known},
			"a certificate": {Credentials{CA: f.ca, Certificate: f.clientCert, Key: f.clientKey}, known},
		} {
			code, body, err := ask(of.shows, at+page)
			if err != nil || code != of.want {
				t.Errorf("%s with %s: %d %v, want %d", page, name, code, err, of.want)
			}
			if code == http.StatusUnauthorized && !strings.Contains(body, "--admin-token-file") {
				t.Errorf("%s: %s does not say what to show", page, body)
			}
		}
	}
	// Other authorities count as soon as they are written, none if there are none. The token is not concerned.
	for _, of := range []struct {
		file string
		want int
	}{{accessFiles(t).ca, 0}, {f.key, 0}, {f.ca, http.StatusOK}} {
		trust(of.file)
		code, _, err := ask(Credentials{CA: f.ca, Certificate: f.clientCert, Key: f.clientKey}, at+"/objects")
		if code != of.want || (err == nil) != (of.want != 0) {
			t.Errorf("a certificate, trusting %s: %d %v, want %d", of.file, code, err, of.want)
		}
		if code, _, err := ask(Credentials{CA: f.ca, TokenFile: f.token}, at+"/objects"); code != http.StatusOK {
			t.Errorf("the token, trusting %s: %d %v", of.file, code, err)
		}
	}
	// Another token counts as soon as it is written, and none if the file is gone.
	if err := os.WriteFile(f.token, []byte("another-token-of-as-many-letters"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, err := ask(Credentials{CA: f.ca, TokenFile: other}, at+"/objects"); code != http.StatusOK {
		t.Errorf("a new token: %d %v", code, err)
	}
	if err := os.Remove(f.token); err != nil {
		t.Fatal(err)
	}
	if code, body, err := ask(Credentials{CA: f.ca, TokenFile: other}, at+"/objects"); code != 500 ||
		strings.Contains(body, f.token) {
		t.Errorf("no token: %d %s %v", code, body, err)
	}
	if _, _, err := ask(Credentials{TokenFile: other}, at+"/objects"); err == nil {
		t.Error("a client takes any certificate")
	}
}

// TestTokensAreNotSentPlain: a client sends the token to this machine, or by TLS.
func TestTokensAreNotSentPlain(t *testing.T) {
	f := accessFiles(t)
	client, err := Credentials{TokenFile: f.token}.NewClient(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"http://192.0.2.1:9900/objects", "http://host.example/objects"} {
		if _, err := client.Get(url); err == nil || !strings.Contains(err.Error(), "without TLS") {
			t.Errorf("%s: %v", url, err)
		}
	}
	c := config(t)
	c.Access = Access{TokenFile: f.token}
	response, err := client.Get("http://" + start(t, c) + "/objects")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("this machine: %v %v", response, err)
	}
	response.Body.Close()
}

// TestBodiesThatNobodyReads: a body has to arrive in time, also of somebody who may not ask.
func TestBodiesThatNobodyReads(t *testing.T) {
	f, log := accessFiles(t), slog.New(slog.DiscardHandler)
	beyond := &net.TCPAddr{IP: net.IPv4zero}
	server := newServer(log, withGuard(beyond, Access{TokenFile: f.token}, log, http.NotFoundHandler()))
	for body, want := range map[string]int{"{}": 1, "": 0} {
		seen := bodytest.NewDeadlineRecorder()
		q := httptest.NewRequestWithContext(t.Context(), "GET", "/objects", strings.NewReader(body))
		server.Handler.ServeHTTP(seen, q)
		if seen.Code != http.StatusUnauthorized || len(seen.Deadlines) != want || want > 0 && seen.Deadlines[0].IsZero() {
			t.Errorf("with body %q: %d, deadlines %v", body, seen.Code, seen.Deadlines)
		}
	}
}
