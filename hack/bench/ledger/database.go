package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// database is where ledgers are kept.
type database struct {
	name string
	make func(name string) (url string, err error) // of a ledger that is not there yet
}

// findDatabases starts a PostgreSQL, if there is one.
func (b *bench) findDatabases() (end func(), err error) {
	inFile := func(name string) (string, error) { return filepath.Join(b.dir, name+".db"), nil }
	if strings.Contains(b.on, "SQLite") {
		b.databases = []*database{{"SQLite", inFile}}
	}
	if !strings.Contains(b.on, "PostgreSQL") {
		return func() {}, nil
	}
	server, err := postgrestest.Serve()
	if err != nil {
		progress("without PostgreSQL: %v", err)
		return func() {}, nil
	}
	b.databases = append(b.databases, &database{"PostgreSQL", server.CreateDatabase})
	return func() { _ = server.Close() }, nil
}

// open opens a ledger of a database. Each time it is the one of that name.
func (b *bench) open(url string) (*store.Store, error) {
	return store.Open(b.ctx, store.Config{URL: url})
}

// atOnce is how many objects a change has that fills a ledger.
const atOnce = 10_000

// fill commits edits, many in one change.
func (b *bench) fill(l ledger.Writer, edits []ledger.Edit) error {
	for len(edits) > 0 {
		n := min(atOnce, len(edits))
		if _, err := l.Commit(b.ctx, ledger.Draft{Author: "bench", Verb: ledger.Import, Edits: edits[:n]}); err != nil {
			return fmt.Errorf("fill the ledger: %w", err)
		}
		edits = edits[n:]
	}
	return nil
}

// fresh makes a ledger of a database with these objects.
func (b *bench) fresh(d *database, name string, edits []ledger.Edit) (url string, l *store.Store, err error) {
	if url, err = d.make(name); err != nil {
		return "", nil, err
	}
	if l, err = b.open(url); err != nil {
		return "", nil, err
	}
	if err := b.fill(l, edits); err != nil {
		_ = l.Close()
		return "", nil, err
	}
	return url, l, nil
}
