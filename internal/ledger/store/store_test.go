package store

import (
	"path/filepath"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/test/ledgertest"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// TestFile runs the contract on a file.
func TestFile(t *testing.T) {
	ledgertest.Test(t, func(t *testing.T) ledger.Ledger { return openFile(t, filepath.Join(t.TempDir(), "ledger.db")) })
}

func openFile(t *testing.T, path string) *Store {
	t.Helper()
	return open(t, Config{URL: path})
}

func open(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestPostgres runs the contract on PostgreSQL.
func TestPostgres(t *testing.T) {
	ledgertest.Test(t, func(t *testing.T) ledger.Ledger { return openServer(t, postgrestest.New(t)) })
}

// openServer opens a ledger in PostgreSQL, with a key file.
func openServer(t *testing.T, url string) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := makeKeyFile(path); err != nil {
		t.Fatal(err)
	}
	return open(t, Config{URL: url, KeyFile: path})
}
