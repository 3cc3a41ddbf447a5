package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// Config says where a ledger is kept.
type Config struct {
	// URL is the path of a file ("ledger.db", "sqlite:/var/lib/ledger.db"), or "postgres://user@host/database".
	URL string
	Log *slog.Logger // nil: nothing is logged
	// KeyFile holds the keys that Secrets are sealed with (seal.go). "": for a file, URL + ".key", which is made with the
	// first Secret; for PostgreSQL, Secrets are refused.
	KeyFile string
	// NoMigrate has Open refuse a database if its tables are older than the program; otherwise it migrates them. New
	// files are migrated always.
	NoMigrate bool
	// Existing has Open refuse a file that is not there; otherwise it is made.
	Existing bool
	// Pending has Open leave the tables as they are, however old: then only Pending, Migrate and Close may be called.
	Pending bool
}

// Store is a ledger in a database.
type Store struct {
	dialect   *sqlDialect
	writeDB   *sql.DB     // of SQLite, one connection
	readDB    *sql.DB     // the same as writes in PostgreSQL
	location  string      // path, or URL
	file      os.FileInfo // that was opened; nil: it is no file
	log       *slog.Logger
	keys      *keyring
	hints     hints
	committer *committer
	notify    chan struct{} // has room for one; of PostgreSQL
	listen    sync.Once     // starts who listens for other processes' commits
	running   sync.WaitGroup
	closing   context.Context // ends with Close
	close     context.CancelFunc

	registry registryCache // targets and clusters
	counts   counters

	lookTimeout time.Duration // how long a change is looked for if its COMMIT had no answer
	noNotify    atomic.Bool   // no notifications: for tests

	mostDenials int64 // how many are kept
}

var _ ledger.Ledger = (*Store)(nil)

// Open opens a ledger, and makes or migrates its tables.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{log: c.Log, notify: make(chan struct{}, 1), lookTimeout: transactionTimeout, mostDenials: mostDenials}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.closing, s.close = context.WithCancel(context.Background())
	err := s.connectPools(c)
	if err == nil {
		s.keys = &keyring{path: c.KeyFile}
		if s.keys.path == "" && s.dialect.name == "sqlite3" {
			s.keys.path, s.keys.mayCreate = s.location+".key", true
		}
		if !c.Pending {
			err = retryWhileBusy(ctx, func() error { return s.prepareTables(ctx, c.NoMigrate) })
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.committer = newCommitter(s)
	if s.dialect.name == "postgres" {
		s.running.Go(s.runNotify)
	}
	return s, nil
}

// connectPools opens the pools of connections.
func (s *Store) connectPools(c Config) error {
	url := c.URL
	if url == "" {
		return &ledger.Error{Code: ledger.Invalid, Field: "url", Message: "no ledger is named",
			Fix: "name a file, or postgres://user@host/database"}
	}
	if strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://") {
		return s.connectPostgres(url)
	}
	return s.connectFile(strings.TrimPrefix(strings.TrimPrefix(url, "sqlite:"), "//"), c.Existing)
}

// Close ends all that the store does. Drafts that wait are refused.
func (s *Store) Close() error {
	s.close()
	if s.committer != nil {
		s.committer.stop()
	}
	s.running.Wait()
	var errs []error
	for _, db := range []*sql.DB{s.readDB, s.writeDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// fromMicros is a time of the database; 0: none.
func fromMicros(t int64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(t).UTC()
}

func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
