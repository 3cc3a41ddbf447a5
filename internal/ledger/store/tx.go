package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// patience is how long a transaction may take. It does nothing but its statements, so a longer one hangs.
const patience = time.Minute

// tx is a transaction, with statements as dialect.go describes them.
type tx struct {
	ctx     context.Context
	sql     *sql.Tx
	conn    *sql.Conn // of sql, if the transaction writes
	dialect *dialect
	counts  *counts
}

// errUnknown says that the connection ended after COMMIT was sent: nobody knows whether it was done.
var errUnknown = errors.New("the connection ended while the transaction was committed")

// tries is how often a transaction is tried if its connection breaks (the pool may have some that are dead already), or
// if the server ends it in favour of another one.
const tries = 4

// retry runs a transaction again if it is certain that nothing of it was kept.
func retry(ctx context.Context, do func() error) (err error) {
	for range tries {
		if err = do(); !isBroken(err) && !isContended(err) || errors.Is(err, errUnknown) || ctx.Err() != nil {
			break
		}
	}
	return explain(err)
}

// change runs a transaction that writes. It may run do several times.
func (s *Store) change(ctx context.Context, do func(tx) error) error {
	return s.identified(func() error { return retry(ctx, func() error { return s.changeOnce(ctx, do) }) })
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
	if err := do(s.begun(ctx, t, conn)); err != nil {
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
	return s.identified(func() error {
		return retry(ctx, func() error {
			t, err := s.reads.BeginTx(ctx, s.dialect.snapshot())
			if err != nil {
				return err
			}
			defer func() { _ = t.Rollback() }() // nothing was written
			return do(s.begun(ctx, t, nil))
		})
	})
}

// begun is a transaction that was begun.
func (s *Store) begun(ctx context.Context, t *sql.Tx, conn *sql.Conn) tx {
	s.counts.transactions.Add(1)
	return tx{ctx, t, conn, s.dialect, &s.counts}
}

// exec runs a statement, and answers how many rows it wrote.
func (t tx) exec(statement string, args ...any) (int64, error) {
	t.counts.statements.Add(1)
	r, err := t.sql.ExecContext(t.ctx, t.dialect.text(statement), args...)
	if err != nil {
		return 0, fmt.Errorf("%w (%.60s)", err, statement)
	}
	n, err := r.RowsAffected()
	t.counts.written.Add(n)
	return n, err
}

// statement is one that exec could run.
type statement struct {
	text string
	args []any
}

// execAll runs statements of a transaction that writes. A server gets them all at once: it is waited for once.
func (t tx) execAll(list []statement) error {
	if t.dialect.name != "postgres" {
		for _, s := range list {
			if _, err := t.exec(s.text, s.args...); err != nil {
				return err
			}
		}
		return nil
	}
	all := &pgx.Batch{}
	t.counts.statements.Add(int64(len(list)))
	for _, s := range list {
		all.Queue(t.dialect.text(s.text), s.args...)
	}
	return t.conn.Raw(func(driver any) error {
		answers := driver.(*stdlib.Conn).Conn().SendBatch(t.ctx, all)
		for range list {
			tag, err := answers.Exec()
			if err != nil {
				return errors.Join(err, answers.Close())
			}
			t.counts.written.Add(tag.RowsAffected())
		}
		return answers.Close()
	})
}

// row reads one row; sql.ErrNoRows if there is none.
func (t tx) row(statement string, args ...any) *sql.Row {
	t.counts.statements.Add(1)
	t.counts.read.Add(1)
	return t.sql.QueryRowContext(t.ctx, t.dialect.text(statement), args...)
}

// each reads rows.
func (t tx) each(scan func(*sql.Rows) error, statement string, args ...any) error {
	t.counts.statements.Add(1)
	rows, err := t.sql.QueryContext(t.ctx, t.dialect.text(statement), args...)
	if err != nil {
		return fmt.Errorf("%w (%.60s)", err, statement)
	}
	for rows.Next() {
		t.counts.read.Add(1)
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
