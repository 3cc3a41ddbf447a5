package ledgerserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/client"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/testcert"
)

// start serves a new ledger with TLS until the test ends, and returns its URL, the file of its authority, and the
// ledger's file.
func start(t *testing.T) (url, authority, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "ledger.db")
	pair := testcert.SelfSigned("localhost")
	paths := map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.PrivateKey}
	for name, text := range paths {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	listening, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			Catalog: world.NewCatalog(), URL: file, Addr: "127.0.0.1:0", TLSCert: filepath.Join(dir, "tls.crt"),
			TLSKey: filepath.Join(dir, "tls.key"), OnListen: func(a string) { listening <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-listening:
		return "https://" + strings.Replace(a, "127.0.0.1", "localhost", 1), filepath.Join(dir, "tls.crt"), file
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
		return "", "", ""
	}
}

// TestServe: who has a token and a grant makes changes over TLS, of what schemas allow; others are told why not.
func TestServe(t *testing.T) {
	url, authority, file := start(t)
	db, err := store.Open(t.Context(), store.Config{URL: file})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	token, hash := auth.MintToken()
	if err := db.SetToken(t.Context(), ledger.Token{Name: "a", Subject: "alice", Hash: hash}, "test"); err != nil {
		t.Fatal(err)
	}
	asked, err := client.New(client.Config{URL: url, Token: token, CAFile: authority})
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	edit := func(spec string) ledger.Draft {
		object := map[string]any{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
			"metadata": map[string]any{"name": "web"}, "spec": map[string]any{spec: []any{map[string]any{"name": "edge"}}}}
		k, content, err := ledger.ContentOf(ledger.DefaultTarget, object)
		if err != nil {
			t.Fatal(err)
		}
		return ledger.Draft{Edits: []ledger.Edit{{Key: k, Content: content}}}
	}
	if _, err := asked.Commit(t.Context(), edit("parentRefs")); ledger.CodeOf(err) != ledger.Denied {
		t.Errorf("without a grant: %v", err)
	}
	grant := ledger.Grant{Name: "all", Subjects: []string{"alice"}, Permissions: []ledger.Permission{"*"}}
	if err := db.SetGrant(t.Context(), grant, "test"); err != nil {
		t.Fatal(err)
	}
	for err == nil || ledger.CodeOf(err) == ledger.Denied { // what another process grants counts within a second
		_, err = asked.Commit(t.Context(), edit("parents"))
	}
	if _, err := asked.Commit(t.Context(), edit("parents")); ledger.CodeOf(err) != ledger.Invalid ||
		!strings.Contains(err.Error(), "parents") {
		t.Errorf("a field that does not exist: %v", err)
	}
	made, err := asked.Commit(t.Context(), edit("parentRefs"))
	if err != nil || made.Number != 1 || made.Author != "alice" || made.Edited[0].Namespace != "default" {
		t.Errorf("got %+v, %v", made, err)
	}
	// Who may do something in one namespace can't name one for an object that is in none.
	limited := ledger.Grant{Name: "all", Subjects: []string{"alice"}, Permissions: []ledger.Permission{"*"},
		Namespaces: []string{"shop"}}
	if err := db.SetGrant(t.Context(), limited, "test"); err != nil {
		t.Fatal(err)
	}
	space := ledger.Key{Target: ledger.DefaultTarget, Kind: "Namespace", Namespace: "shop", Name: "payments"}
	for ledger.CodeOf(err) != ledger.Denied {
		if _, err = asked.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{{Key: space, Delete: true}}}); err == nil {
			t.Fatal("a Namespace was deleted with a grant for another one")
		}
	}
	if err := asked.SetGrant(t.Context(), grant, ""); ledger.CodeOf(err) != ledger.Denied {
		t.Errorf("who may do everything in one namespace is an administrator: %v", err)
	}
	if err := db.SetGrant(t.Context(), grant, "test"); err != nil {
		t.Fatal(err)
	}
	for err = error(&ledger.Error{Code: ledger.Denied}); ledger.CodeOf(err) == ledger.Denied; {
		_, err = asked.Preview(t.Context(), edit("parentRefs"))
	}
	preview, err := asked.Preview(t.Context(), edit("parentRefs"))
	if err != nil || preview.IsWhole() {
		t.Errorf("nobody can be asked for a preview, and yet %+v, %v", preview, err)
	}
	stranger, err := client.New(client.Config{URL: url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Head(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
}

// TestReplacedFile: a server whose file was replaced answers so, to reads, commits and probes, and not from the file
// that it had.
func TestReplacedFile(t *testing.T) {
	url, authority, file := start(t)
	db, err := store.Open(t.Context(), store.Config{URL: file})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	token, hash := auth.MintToken()
	backup := file + ".backup"
	err = errors.Join(db.SetToken(t.Context(), ledger.Token{Name: "a", Subject: "alice", Hash: hash}, "test"),
		db.SetGrant(t.Context(), ledger.Grant{Name: "all", Subjects: []string{"alice"},
			Permissions: []ledger.Permission{"*"}}, "test"), db.Backup(t.Context(), backup), os.Rename(backup, file))
	if err != nil {
		t.Fatal(err)
	}
	asked, err := client.New(client.Config{URL: url, Token: token, CAFile: authority})
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	_, read := asked.Head(t.Context())
	_, commit := asked.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{{Delete: true,
		Key: ledger.Key{Kind: "Namespace", Name: "shop"}}}})
	for _, err := range []error{read, commit} {
		if ledger.CodeOf(err) != ledger.Unavailable || !strings.Contains(err.Error(), "was replaced") {
			t.Errorf("the answer is %v", err)
		}
	}
	answer := httptest.NewRecorder()
	newProbes(db, newMetrics()).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "was replaced") {
		t.Errorf("it is ready: %d %s", answer.Code, answer.Body)
	}
}

// TestOptions: what would lay tokens and Secrets open is refused, with the flag that mends it.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Addr: "0.0.0.0:1"}, "--tls-cert"}, {Options{Addr: ":1"}, "--tls-cert"},
		{Options{Addr: "localhost"}, "--listen"}, {Options{Addr: "127.0.0.1:1", TLSCert: "a"}, "--tls-key"},
		{Options{Addr: "localhost:1"}, ""}, {Options{Addr: "[::1]:1"}, ""},
		{Options{Addr: "0.0.0.0:1", Plain: true}, ""}, {Options{Addr: "0.0.0.0:1", TLSCert: "a", TLSKey: "b"}, ""},
	} {
		err := c.o.checkOptions()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// TestCertificateThatIsNotThere: the error names the flags.
func TestCertificateThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	o := Options{TLSCert: filepath.Join(dir, "crt"), TLSKey: filepath.Join(dir, "key"), Log: slog.New(slog.DiscardHandler)}
	err := serveAddress(t.Context(), o, "127.0.0.1:0", "--listen", http.NotFoundHandler(), nil)
	if err == nil || !strings.Contains(err.Error(), "--tls-cert") {
		t.Errorf("serve = %v", err)
	}
}
