package client_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/client"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/ops/ledgerpreview"
	"cardea.dev/cardea/internal/test/ledgertest"
	"cardea.dev/cardea/internal/test/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// TestContractOverFile runs the contract of a ledger through HTTP, over a file.
func TestContractOverFile(t *testing.T) {
	contract(t, func(t *testing.T) store.Config {
		return store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")}
	})
}

// TestContractOverPostgreSQL runs the contract through HTTP, over a real PostgreSQL.
func TestContractOverPostgreSQL(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a database for each test")
	}
	contract(t, func(t *testing.T) store.Config {
		key := make([]byte, 32)
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key)), 0o600); err != nil {
			t.Fatal(err)
		}
		return store.Config{URL: postgrestest.New(t), KeyFile: file}
	})
}

func contract(t *testing.T, at func(t *testing.T) store.Config) {
	ledgertest.Test(t, func(t *testing.T) ledger.Ledger {
		_, url := serveAt(t, at(t))
		return everybody{t: t, url: url, clients: &sync.Map{}}
	})
}

// serve starts a server over a file.
func serve(t *testing.T) (*store.Store, string) {
	t.Helper()
	return serveAt(t, store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
}

func serveAt(t *testing.T, at store.Config) (*store.Store, string) {
	t.Helper()
	s, err := store.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	previews := &ledgerpreview.Previewer{Ledger: s, IsRead: func(ledger.Key) bool { return true },
		CardeasOf: func(context.Context, string) ([]ledgerpreview.CardeaAdmin, error) { return nil, nil }}
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

func (named) IdentifyCaller(r *http.Request) (ledger.Caller, error) {
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

func (named) MayAny(context.Context, ledger.Caller, ...ledger.Permission) (bool, error) {
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
