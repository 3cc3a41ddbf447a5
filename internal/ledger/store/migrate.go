package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"cardea.dev/cardea/internal/core/ledger"
)

//go:embed migrations
var migrations embed.FS

// prepareTables makes or migrates the tables.
func (s *Store) prepareTables(ctx context.Context, never bool) error {
	pending, err := s.PendingMigrations(ctx)
	if err != nil {
		return err
	}
	if pending == 0 {
		return nil
	}
	if never {
		isNew, err := s.isNew(ctx)
		if err != nil {
			return err
		}
		if !isNew || s.dialect.name == "postgres" {
			return &ledger.Error{Code: ledger.Unavailable, Fix: "run `cardea ledger migrate`",
				Message: fmt.Sprintf("the tables of the ledger are older than this program, by %d migrations", pending)}
		}
	}
	return s.Migrate(ctx)
}

// Migrate brings the tables to the program's version. Several processes may do so at once.
func (s *Store) Migrate(ctx context.Context) error {
	p, err := s.newMigrator(s.migrationFiles())
	if err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; {
		_, err = p.Up(ctx)
		if err == nil || s.dialect.name == "postgres" || time.Now().After(end) {
			break
		}
		// Two processes with one new file: one of them made the tables.
		if pending, err := s.PendingMigrations(ctx); err == nil && pending == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err != nil {
		return explainError(fmt.Errorf("migrate the ledger: %w", err))
	}
	return nil
}

// PendingMigrations is how many migrations the tables lack. Tables that are newer than the program are an error.
func (s *Store) PendingMigrations(ctx context.Context) (int, error) {
	p, err := s.newMigrator(s.migrationFiles())
	if err != nil {
		return 0, err
	}
	// This makes goose's own table in a database that was never migrated.
	list, err := p.Status(ctx)
	if err != nil {
		return 0, explainError(fmt.Errorf("read the ledger's version: %w", err))
	}
	n := 0
	for _, m := range list {
		if m.State == goose.StatePending {
			n++
		}
	}
	if n > 0 {
		return n, nil
	}
	var of requirements
	err = s.writeDB.QueryRowContext(ctx, "SELECT needs, needs_program FROM head").Scan(&of.migration, &of.program)
	if err != nil {
		return 0, explainError(fmt.Errorf("read the ledger's version: %w", err))
	}
	return 0, of.checkVersion(s.dialect.newestMigration)
}

func (s *Store) isNew(ctx context.Context) (bool, error) {
	p, err := s.newMigrator(s.migrationFiles())
	if err != nil {
		return false, err
	}
	version, err := p.GetDBVersion(ctx)
	return version == 0, explainError(err)
}

// newestOf is the number of the newest migration of a folder.
func newestOf(folder string) (newest int64) {
	list, err := migrations.ReadDir(folder)
	if err != nil {
		panic(err) // it is built in
	}
	for _, f := range list {
		number, err := goose.NumericComponent(f.Name())
		if err != nil {
			panic(err)
		}
		newest = max(newest, number)
	}
	return newest
}

func (s *Store) migrationFiles() fs.FS {
	list, err := fs.Sub(migrations, s.dialect.migrations)
	if err != nil {
		panic(err) // it is built in
	}
	return list
}

// newMigrator runs migrations. On PostgreSQL, a lock of the session keeps processes from doing so at once.
func (s *Store) newMigrator(list fs.FS) (*goose.Provider, error) {
	options := []goose.ProviderOption{goose.WithTableName("ledger_version"), goose.WithDisableGlobalRegistry(true)}
	dialect := goose.DialectSQLite3
	if s.dialect.name == "postgres" {
		dialect = goose.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 120), lock.WithUnlockTimeout(1, 30))
		if err != nil {
			return nil, fmt.Errorf("migrate the ledger: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(dialect, s.writeDB, list, options...)
	if err != nil {
		return nil, fmt.Errorf("migrate the ledger: %w", err)
	}
	return p, nil
}
