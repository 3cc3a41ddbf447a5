package client_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/client"
	"cardea.dev/cardea/internal/ledger/rest"
)

var web = ledger.Key{Target: "default", Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop",
	Name: "web"}

func edit(host string) ledger.Edit {
	return ledger.Edit{Key: web, Content: ledger.Content(`{"apiVersion":"gateway.networking.k8s.io/v1",` +
		`"kind":"HTTPRoute","metadata":{"name":"web","namespace":"shop"},"spec":{"hostnames":["` + host + `"]}}`)}
}

// quiet takes what servers say of handshakes that tests have fail.
var quiet = log.New(io.Discard, "", 0)

func open(t *testing.T, c client.Config) *client.Client {
	t.Helper()
	made, err := client.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func commit(t *testing.T, c ledger.Writer, host string) ledger.Change {
	t.Helper()
	change, err := c.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{edit(host)}})
	if err != nil {
		t.Fatal(err)
	}
	return change
}

// wants wants an error of a code whose text has all words.
func wants(t *testing.T, err error, code ledger.Code, words ...string) {
	t.Helper()
	if ledger.CodeOf(err) != code {
		t.Fatalf("the error is %v (%s), want %s", err, ledger.CodeOf(err), code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

func TestSettingsThatCanNotWork(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		client.Config
		word string
	}{
		{client.Config{URL: "ledger:8443"}, "--ledger"}, {client.Config{URL: ""}, "--ledger"},
		{client.Config{URL: "https://x", CAFile: none}, "--ca-file"},
		{client.Config{URL: "https://x", CAFile: empty}, "--ca-file"},
		{client.Config{URL: "nonsense", URLFlag: "--at"}, "--at"},
	} {
		_, err := client.New(bad.Config)
		wants(t, err, ledger.Invalid, bad.word)
	}
	// A token is sent over TLS, or stays on this machine.
	for _, bad := range []client.Config{{URL: "http://ledger.example:8443", Token: "t"},
		{URL: "http://10.0.0.1", Token: "t"}, {URL: "http://localhost.example", TokenFile: none}} {
		_, err := client.New(bad)
		wants(t, err, ledger.Invalid, "--ledger", "https://", "token")
	}
	for _, good := range []client.Config{{URL: "http://ledger.example"}, {URL: "http://localhost:1", Token: "t"},
		{URL: "http://[::1]:1", Token: "t"}, {URL: "https://ledger.example", Token: "t"}} {
		open(t, good)
	}
	_, err := open(t, client.Config{URL: "http://127.0.0.1:1", TokenFile: none}).Head(t.Context())
	wants(t, err, ledger.Unknown, "--token-file")
}

func TestNobodyAnswers(t *testing.T) {
	_, err := open(t, client.Config{URL: "http://127.0.0.1:1"}).Head(t.Context())
	wants(t, err, ledger.Unavailable, "connection refused", "--ledger", "cardea ledger serve")
	_, url := serve(t)
	_, err = open(t, client.Config{URL: url}).Head(t.Context())
	wants(t, err, ledger.Unknown, "--token-file")
	other := httptest.NewServer(http.NotFoundHandler()) // another program's port
	defer other.Close()
	_, err = open(t, client.Config{URL: other.URL}).Head(t.Context())
	wants(t, err, ledger.Invalid, "404", "which no ledger answers", "--ledger")
}

func TestCertificateMustBeTrusted(t *testing.T) {
	s, _ := serve(t)
	h, err := rest.New(rest.Config{Ledger: s, Callers: named{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = quiet
	server.StartTLS()
	defer server.Close()
	_, err = open(t, client.Config{URL: server.URL, Token: "subject:alice"}).Head(t.Context())
	wants(t, err, ledger.Unavailable, "not trusted", "--ca-file")
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, client.Config{URL: server.URL, Token: "subject:alice", CAFile: file})
	if _, err := c.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTokenFileIsReadAnewForEachRequest(t *testing.T) {
	_, url := serve(t)
	file := filepath.Join(t.TempDir(), "token")
	c := open(t, client.Config{URL: url + "/ledger/v1/", TokenFile: file})
	for _, name := range []string{"alice", "bob"} {
		if err := os.WriteFile(file, []byte("subject:"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if change := commit(t, c, name); change.Author != name {
			t.Fatalf("%+v", change)
		}
	}
}

func TestProblemsComeBackAsErrors(t *testing.T) {
	_, url := serve(t)
	c := open(t, client.Config{URL: url, Token: "subject:alice", Via: "test"})
	if change := commit(t, c, "a"); change.Via != "test" {
		t.Fatalf("%+v", change)
	}
	old := int64(7)
	e := edit("b")
	e.Expect = &old
	_, err := c.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{e}})
	wants(t, err, ledger.Stale, "generation 7")
	if known, _ := errors.AsType[*ledger.Error](err); known.Have != 1 || known.Object != "HTTPRoute shop/web" {
		t.Fatalf("%+v", known)
	}
	_, err = c.Preview(t.Context(), ledger.Draft{Edits: []ledger.Edit{edit("b")}})
	wants(t, err, ledger.NotAsked)
	_, err = c.Commit(t.Context(), ledger.Draft{Verb: ledger.Rollback, Of: 1, Back: &ledger.Back{Objects: []ledger.Key{{
		Target: "default", Group: "gateway.networking.k8s.io", Kind: "Gateway", Namespace: "shop", Name: "gw"}}}})
	wants(t, err, ledger.NotFound, "Gateway shop/gw")
	_, err = open(t, client.Config{URL: url, Token: "cluster:east"}).Head(t.Context())
	wants(t, err, ledger.Denied, "east")
}

func TestUndoAndWait(t *testing.T) {
	_, url := serve(t)
	c := open(t, client.Config{URL: url, Token: "subject:alice"})
	commit(t, c, "a")
	second := commit(t, c, "b")
	undo := ledger.Draft{Verb: ledger.Undo, Of: second.Number, Back: &ledger.Back{}, Request: "once"}
	change, err := c.Commit(t.Context(), undo)
	if err != nil || change.Verb != ledger.Undo || change.Edited[0].Revision != 1 {
		t.Fatalf("%+v, %v", change, err)
	}
	again, err := c.Commit(t.Context(), undo)
	if err != nil || again.Number != change.Number || !again.Repeated {
		t.Fatalf("%+v, %v", again, err)
	}
	status, err := c.StatusOf(t.Context(), change.Number)
	if err != nil || status.State != "committed" {
		t.Fatalf("%+v, %v", status, err)
	}
	short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if _, err := c.WaitForChange(short, change.Number, true); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	worker := open(t, client.Config{URL: url, Token: "cluster:alone"})
	go worker.ReportAnswers(context.WithoutCancel(t.Context()), []ledger.Live{{Key: web, Cluster: "alone",
		Gateway:    "shop/gw",
		Generation: change.Edited[0].Generation, Proxies: 1}})
	if status, err = c.WaitForChange(t.Context(), change.Number, true); err != nil || status.State != "live" {
		t.Fatalf("%+v, %v", status, err)
	}
}

// flaky cuts or refuses requests as a test wants it.
type flaky struct {
	next    http.Handler
	refuse  atomic.Int64 // how many of the next requests are answered with 503
	refused atomic.Int64
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.refuse.Add(-1) >= 0 {
		f.refused.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	f.next.ServeHTTP(w, r)
}

func TestReadsAreTriedAgainAndWritesAreNot(t *testing.T) {
	s, _ := serve(t)
	h, err := rest.New(rest.Config{Ledger: s, Callers: named{}})
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{next: h}
	server := httptest.NewServer(f)
	defer server.Close()
	c := open(t, client.Config{URL: server.URL, Token: "subject:alice"})
	f.refuse.Store(2)
	if _, err := c.Head(t.Context()); err != nil || f.refused.Load() != 2 {
		t.Fatalf("%v after %d", err, f.refused.Load())
	}
	f.refuse.Store(1)
	_, err = c.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{edit("a")}})
	wants(t, err, ledger.Unavailable)
	if f.refused.Load() != 3 {
		t.Fatal("a write was repeated")
	}
	f.refuse.Store(100)
	_, err = c.Head(t.Context())
	wants(t, err, ledger.Unavailable, "503")
}

// cutter is a listener whose connections a test can cut.
type cutter struct {
	net.Listener
	open chan net.Conn
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		select {
		case c.open <- conn:
		default:
		}
	}
	return conn, err
}

func TestWatchGoesOnAfterTheConnectionWasCut(t *testing.T) {
	s, _ := serve(t)
	h, err := rest.New(rest.Config{Ledger: s, Callers: named{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	cuts := &cutter{server.Listener, make(chan net.Conn, 100)}
	server.Listener = cuts
	server.Start()
	defer server.Close()
	c := open(t, client.Config{URL: server.URL, Token: "subject:alice"})
	next := int64(1)
	for change, err := range c.Watch(t.Context(), commit(t, s, "first").Number-1) {
		if err != nil {
			t.Fatal(err)
		}
		if change.Number != next {
			t.Fatalf("change %d came, want %d", change.Number, next)
		}
		if next == 6 {
			break
		}
		(<-cuts.open).Close() // and what is committed meanwhile is not lost
		commit(t, s, fmt.Sprint("h", next))
		next++
	}
}

func TestWatchThatCanNotGoOnSaysWhy(t *testing.T) {
	for _, err := range open(t, client.Config{URL: "http://127.0.0.1:1"}).Watch(t.Context(), 0) {
		wants(t, err, ledger.Unavailable, "--ledger")
	}
	_, url := serve(t)
	for _, err := range open(t, client.Config{URL: url}).Watch(t.Context(), 0) {
		wants(t, err, ledger.Unknown)
	}
	for _, err := range open(t, client.Config{URL: url, Token: "subject:a"}).Watch(t.Context(), 9) {
		wants(t, err, ledger.Conflict, "restored")
	}
}

func TestTokenIsNotSentElsewhere(t *testing.T) {
	seen := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	_, err := open(t, client.Config{URL: server.URL, Token: "secret"}).Head(t.Context())
	wants(t, err, ledger.Invalid, "307")
	if len(seen) != 0 {
		t.Fatal("the redirect was followed")
	}
}
