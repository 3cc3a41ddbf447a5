package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/client"
	"cardea.dev/cardea/internal/ledger/ledgertest"
	"cardea.dev/cardea/internal/ledger/preview"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/store"
)

// TestContract runs the contract of a ledger through HTTP, over a file.
func TestContract(t *testing.T) {
	ledgertest.Test(t, func(t *testing.T) ledger.Ledger {
		skipOverHTTP(t)
		_, url := serve(t)
		return everybody{t: t, url: url, clients: &sync.Map{}}
	})
}

// skipOverHTTP skips what HTTP decides otherwise, on purpose.
func skipOverHTTP(t *testing.T) {
	for part, why := range map[string]string{
		"proposal_of_another_draft": "the server has the draft, and nobody sends it again",
	} {
		if strings.Contains(t.Name(), part) {
			t.Skip(why)
		}
	}
}

// serve starts a server over a file.
func serve(t *testing.T) (*store.Store, string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	previews := &preview.Previewer{Ledger: s, Reads: func(ledger.Key) bool { return true },
		Of: func(context.Context, string) ([]preview.Asked, error) { return nil, nil }}
	h, err := rest.New(rest.Config{Ledger: s, Callers: named{}, Version: "test", Proposer: previews})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return s, server.URL
}

// named takes callers for whom their token says that they are: "subject:alice" may everything, "cluster:east" is a
// worker. The contract makes tokens and grants of its own.
type named struct{}

func (named) Caller(r *http.Request) (ledger.Caller, error) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if name, ok := strings.CutPrefix(token, "cluster:"); ok {
		return ledger.Caller{Cluster: name}, nil
	}
	if name, ok := strings.CutPrefix(token, "subject:"); ok {
		return ledger.Caller{Subject: name, All: true}, nil
	}
	return ledger.Caller{}, &ledger.Error{Code: ledger.Unknown, Message: "nobody"}
}

func (named) May(context.Context, ledger.Caller, ledger.Permission, ledger.Key) (bool, error) {
	return true, nil
}

// everybody is a ledger that each caller asks with a client of its own: over HTTP, who writes is who the token is of.
type everybody struct {
	t       *testing.T
	url     string
	clients *sync.Map // of clients, by token
}

var _ ledger.Ledger = everybody{}

func (e everybody) as(token string) *client.Client {
	if c, ok := e.clients.Load(token); ok {
		return c.(*client.Client)
	}
	c, err := client.New(client.Config{URL: e.url, Token: token})
	if err != nil {
		panic(err)
	}
	known, loaded := e.clients.LoadOrStore(token, c)
	if !loaded {
		e.t.Cleanup(c.Close)
	}
	return known.(*client.Client)
}

func (e everybody) reader() *client.Client               { return e.as("subject:reader") }
func (e everybody) by(name string) *client.Client        { return e.as("subject:" + name) }
func (e everybody) worker(cluster string) *client.Client { return e.as("cluster:" + cluster) }
