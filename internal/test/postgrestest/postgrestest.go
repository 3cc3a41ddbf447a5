// Package postgrestest runs a real PostgreSQL for tests.
//
// It owns the server of a test binary: a folder of its own, an unprivileged user if the tests run as root (PostgreSQL
// refuses root), the loopback address and a password that nobody else knows. It must never know what is kept in it. The
// server starts with the first New, and ends with Main. Tests call it from any goroutine. Start reading at New.
package postgrestest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// startTimeout is how long a server may take to start.
const startTimeout = time.Minute

// sharedServer is the server of New.
var sharedServer struct {
	sync.Mutex
	server    *Server
	databases int
}

// New makes a database, and answers its URL. It is dropped after the test. Without programs of PostgreSQL the test is
// skipped, and fails if $CI is set.
func New(t testing.TB) (url string) {
	t.Helper()
	programs := needPrograms(t)
	sharedServer.Lock()
	defer sharedServer.Unlock()
	if sharedServer.server == nil {
		s, err := startServer(programs)
		if err != nil {
			t.Fatal(err)
		}
		sharedServer.server = s
	}
	sharedServer.databases++
	name := fmt.Sprintf("test_%d", sharedServer.databases)
	if err := sharedServer.server.execStatement("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	s := sharedServer.server
	t.Cleanup(func() {
		if err := s.execStatement("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}

// Programs is the folder of PostgreSQL's programs. Tests are skipped as those of New are.
func Programs(t testing.TB) string {
	t.Helper()
	return needPrograms(t)
}

// Start starts a server of the test's own, which it may kill. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := startServer(needPrograms(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stopAndRemove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Main runs the tests of a binary, and ends the server that New started. It is what TestMain calls.
func Main(m *testing.M) {
	code := m.Run()
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Stop ends the server that New started, for binaries with a TestMain of their own.
func Stop() error {
	sharedServer.Lock()
	defer sharedServer.Unlock()
	if sharedServer.server == nil {
		return nil
	}
	if err := sharedServer.server.stopAndRemove(); err != nil {
		return fmt.Errorf("postgrestest: %w", err)
	}
	return nil
}

func needPrograms(t testing.TB) (programs string) {
	t.Helper()
	programs = findPrograms()
	if programs == "" && os.Getenv("CI") == "" {
		t.Skip("there is no PostgreSQL 15 or newer: `make postgres` gets one")
	}
	if programs == "" {
		t.Fatal("there is no PostgreSQL 15 or newer: `make postgres` gets one")
	}
	return programs
}

// URL is that of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", superuser, s.password, s.Port, database)
}

// execStatement runs a statement in the database that each server has.
func (s *Server) execStatement(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", strings.Fields(statement)[0], err)
	}
	return nil
}
