package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// patience is how long a transaction may take. It does nothing but its statements, so a longer one hangs.
const patience = 30 * time.Second

// tx is a transaction, with statements as dialect.go describes them.
type tx struct {
	ctx     context.Context
	sql     *sql.Tx
	dialect *dialect
}

// errUnknown says that the connection ended after COMMIT was sent: nobody knows whether it was done.
var errUnknown = errors.New("the connection ended while the transaction was committed")

// tries is how often a transaction is tried whose connection breaks: the pool may have some that are dead already.
const tries = 4

// retry runs a transaction again whose connection broke before COMMIT was sent: then nothing of it is kept.
func retry(ctx context.Context, do func() error) (err error) {
	for range tries {
		if err = do(); !isBroken(err) || errors.Is(err, errUnknown) || ctx.Err() != nil {
			break
		}
	}
	return explain(err)
}

// change runs a transaction that writes. It may run do several times.
func (s *Store) change(ctx context.Context, do func(tx) error) error {
	return retry(ctx, func() error { return s.changeOnce(ctx, do) })
}

func (s *Store) changeOnce(ctx context.Context, do func(tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	t, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx{ctx, t, s.dialect}); err != nil {
		_ = t.Rollback() // it is over either way
		return err
	}
	failpoint("before-commit")
	if err := t.Commit(); err != nil {
		if s.dialect.name == "sqlite3" {
			// A commit that failed may leave the transaction open, and its connection is used again.
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return err
		}
		if isBroken(err) || ctx.Err() != nil {
			err = errors.Join(errUnknown, err)
		}
		return err
	}
	failpoint("after-commit")
	return nil
}

// view runs a transaction that reads one state. It may run do several times.
func (s *Store) view(ctx context.Context, do func(tx) error) error {
	return retry(ctx, func() error {
		t, err := s.reads.BeginTx(ctx, s.dialect.snapshot())
		if err != nil {
			return err
		}
		defer func() { _ = t.Rollback() }() // nothing was written
		return do(tx{ctx, t, s.dialect})
	})
}

// exec runs a statement, and answers how many rows it wrote.
func (t tx) exec(statement string, args ...any) (int64, error) {
	r, err := t.sql.ExecContext(t.ctx, t.dialect.text(statement), args...)
	if err != nil {
		return 0, fmt.Errorf("%w (%.60s)", err, statement)
	}
	return r.RowsAffected()
}

// row reads one row; sql.ErrNoRows if there is none.
func (t tx) row(statement string, args ...any) *sql.Row {
	return t.sql.QueryRowContext(t.ctx, t.dialect.text(statement), args...)
}

// each reads rows.
func (t tx) each(scan func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := t.sql.QueryContext(t.ctx, t.dialect.text(statement), args...)
	if err != nil {
		return fmt.Errorf("%w (%.60s)", err, statement)
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// table is rows for {rows $1}.
type table [][]any

func (t table) json() string {
	if t == nil {
		return "[]"
	}
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // it consists of text and numbers
	}
	return string(text)
}

// column is a table with one column.
func column(list []string) table {
	t := make(table, len(list))
	for i, word := range list {
		t[i] = []any{word}
	}
	return t
}
