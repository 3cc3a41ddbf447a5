package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/test/testcert"
)

// TestRefused: what users may not have fetched is not, wherever redirects lead, and it is said why.
func TestRefused(t *testing.T) {
	big := strings.Repeat(" ", maxSize+1)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/big":
			fmt.Fprint(w, big)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		case "/once":
			http.Redirect(w, r, "/", http.StatusFound)
		default:
			fmt.Fprint(w, keys)
		}
	}))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, plain.URL, http.StatusFound)
		}
	}))
	t.Cleanup(secure.Close)
	w := newFetcher(t)
	w.fetcher.cfg.Roots = x509.NewCertPool()
	w.fetcher.cfg.Roots.AddCert(secure.Certificate())
	get := func(url string) error {
		_, err := w.fetcher.requestDocument(t.Context(), model.FetchKey{URL: url}, model.FetchSpec{}, "")
		return err
	}
	for url, want := range map[string]string{
		plain.URL + "/once":                            "",
		secure.URL:                                     "",
		plain.URL + "/big":                             "more than 1048576 bytes",
		plain.URL + "/gone":                            errMissing.Error(),
		plain.URL + "/loop":                            "redirected more than 5 times",
		plain.URL + "/metadata":                        "the credentials of machines",
		secure.URL + "/down":                           "redirected from https to http",
		"http://169.254.169.254/":                      "the credentials of machines",
		"http://[fd00:ec2::254]/":                      "the credentials of machines",
		"http://168.63.129.16/":                        "the credentials of machines",
		"http://[64:ff9b::100.100.100.200]/":           "the credentials of machines",
		"http://[::ffff:169.254.169.254]/":             "the credentials of machines",
		strings.Replace(plain.URL, "http", "https", 1): "does not speak TLS",
	} {
		if err := get(url); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	w.fetcher.cfg.Roots = nil
	if err := get(secure.URL); err == nil || !strings.Contains(err.Error(), "certificate is not accepted") {
		t.Errorf("from a server whose certificate nobody signed: %v", err)
	}
}

// TestThroughABackend: its endpoints are asked in the name of the URL's host, with TLS as its policy says.
func TestThroughABackend(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://other.example/", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.Host)
	})
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	ca := testcert.NewAuthority("ca")
	pair := ca.NewServer("keys.internal")
	secure := httptest.NewUnstartedServer(handler)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLSCertificate()}}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	at := func(s *httptest.Server, tls *model.BackendTLS) *model.Backend {
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		n, _ := strconv.Atoi(port)
		return &model.Backend{Endpoints: []model.Endpoint{{Address: "127.0.0.1", Port: int32(n)}}, TLS: tls}
	}
	trust := func(host string, names ...model.SubjectAltName) *model.BackendTLS {
		return &model.BackendTLS{Hostname: host, CA: string(ca.Certificate), Names: names}
	}
	through := model.BackendKey{Object: model.Ref(model.KindService, "infra", "keys"), Port: 80}
	w := newFetcher(t)
	const url = "http://login.example/keys"
	for _, c := range []struct {
		about, url string
		backend    *model.Backend
		want       string // the answer, or a part of the error
	}{
		{"plain", url, at(plain, nil), "login.example"},
		{"TLS", url, at(secure, trust("keys.internal")), "login.example"},
		{"TLS of an https URL", "https://login.example/", at(secure, trust("keys.internal")), "login.example"},
		{"another name", url, at(secure, trust("other.internal")), "certificate is not accepted"},
		{"a name of several", url, at(secure, trust("x", model.SubjectAltName{Value: "keys.internal"})), "login.example"},
		{"none of its names", url, at(secure, trust("keys.internal", model.SubjectAltName{Value: "x"})), "none of the names"},
		{"closed", url, at(secure, &model.BackendTLS{Closed: "no CA"}), "no CA"},
		{"no endpoints", url, &model.Backend{}, "no endpoints"},
		{"away", "http://login.example/away", at(plain, nil), "redirected to another host"},
	} {
		key, want := model.FetchKey{URL: c.url, Through: through}, model.FetchSpec{Backend: c.backend}
		got, err := w.fetcher.requestDocument(t.Context(), key, want, "")
		said := fmt.Sprint(got.content, err)
		if !strings.Contains(said, c.want) || (c.want == "login.example") != (err == nil) {
			t.Errorf("%s: %s, want %q", c.about, said, c.want)
		}
	}
}
