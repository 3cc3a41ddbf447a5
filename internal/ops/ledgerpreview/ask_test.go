package ledgerpreview

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
)

// TestWhoIsAsked: of a target that is applied to clusters, all clusters that serve it; of one that Cardeas read by
// themselves, those that were registered for that; else the one that is here.
func TestWhoIsAsked(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	prod := ledger.Target{Name: "prod", Server: ledger.Clusters, Clusters: map[string]string{"env": "prod"}}
	if err := s.SetTarget(t.Context(), prod, "test"); err != nil {
		t.Fatal(err)
	}
	asked := func(target, here string) string {
		t.Helper()
		list, err := FindCardeas(s, here)(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range list {
			if a.Diff == nil {
				a.Cluster += " (not)"
			}
			names = append(names, a.Cluster)
		}
		return strings.Join(names, ", ")
	}
	if got := asked("default", ""); got != "target default (not)" {
		t.Errorf("with nobody registered: %s", got)
	}
	if got := asked("default", "127.0.0.1:9900"); got != "standalone" {
		t.Errorf("with nobody registered: %s", got)
	}
	for _, c := range []ledger.Cluster{
		{Name: "east", Labels: map[string]string{"env": "prod"}, Kubeconfig: "east", Admin: "http://127.0.0.1:1"},
		{Name: "edge", Admin: "http://127.0.0.1:2"},
		{Name: "west", Labels: map[string]string{"env": "prod"}},
	} {
		if err := s.SetCluster(t.Context(), c, "test"); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]string{"default": "edge", "prod": "east, west (not)"} {
		if got := asked(target, "127.0.0.1:9900"); got != want {
			t.Errorf("of %s: %s, want %s", target, got, want)
		}
	}
}

// TestAddressesStayHere: a preview tells why a Cardea was not asked, and not where it is.
func TestAddressesStayHere(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(cut.Close)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(admin.Header, "admin")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"message": "use a loopback address or localhost as the host, not %s"}`, r.Host)
	}))
	t.Cleanup(refuses.Close)
	for address, want := range map[string]string{
		refuses.URL:          "does not accept this program's credentials",
		"http://127.0.0.1:1": "no Cardea runs", "http://127.0.0.1:99999": "can't be reached",
		other.URL: "other than Cardea's admin API", cut.URL: "does not answer", "http://a b": "not a URL",
		"http://cardea.invalid:9901": "without TLS",
	} {
		e := diff.Edit{}
		if strings.HasSuffix(address, "9901") {
			e.Objects = []map[string]any{{"kind": "Secret"}}
		}
		var log bytes.Buffer
		p := Previewer{Log: slog.New(slog.NewTextHandler(&log, nil))}
		c := p.previewCluster(t.Context(), newCardeaAdmin("east", address), "default", e)
		u, err := url.Parse(address)
		host := "a b"
		if err == nil {
			host = u.Hostname()
		}
		if !strings.Contains(c.NotPreviewed, want) || strings.Contains(c.NotPreviewed, host) {
			t.Errorf("%s: %q, want %q", address, c.NotPreviewed, want)
		}
		if !strings.Contains(log.String(), host) {
			t.Errorf("%s: the log says %q", address, log.String())
		}
	}
}
