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

// transactionTimeout is how long a transaction may take. It does nothing but its statements, so a longer one hangs.
const transactionTimeout = time.Minute

// tx is a transaction, with statements as dialect.go describes them.
type tx struct {
	ctx     context.Context
	sql     *sql.Tx
	conn    *sql.Conn // of sql, if the transaction writes
	dialect *sqlDialect
	counts  *counters
}

// errUnknown says that the connection ended after COMMIT was sent: nobody knows whether it was done.
var errUnknown = errors.New("the connection ended while the transaction was committed")

// maxTries is how often a transaction is tried if its connection breaks (the pool may have some that are dead already),
// or if the server ends it in favour of another one.
const maxTries = 4

// retryTransaction runs a transaction again if it is certain that nothing of it was kept.
func retryTransaction(ctx context.Context, do func() error) (err error) {
	for range maxTries {
		if err = do(); !isBroken(err) && !isContended(err) || errors.Is(err, errUnknown) || ctx.Err() != nil {
			break
		}
	}
	return explainError(err)
}

// runWrite runs a transaction that writes. It may run do several times.
func (s *Store) runWrite(ctx context.Context, do func(tx) error) error {
	return s.withSameFile(func() error { return retryTransaction(ctx, func() error { return s.runWriteOnce(ctx, do) }) })
}

func (s *Store) runWriteOnce(ctx context.Context, do func(tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, transactionTimeout)
	defer cancel()
	conn, err := s.writeDB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	t, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(s.newTx(ctx, t, conn)); err != nil {
		_ = t.Rollback() // it is over either way
		return err
	}
	hitFailpoint("before-commit")
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
	hitFailpoint("after-commit")
	return nil
}

// runRead runs a transaction that reads one state. It may run do several times.
func (s *Store) runRead(ctx context.Context, do func(tx) error) error {
	return s.withSameFile(func() error {
		return retryTransaction(ctx, func() error {
			t, err := s.readDB.BeginTx(ctx, s.dialect.readOptions())
			if err != nil {
				return err
			}
			defer func() { _ = t.Rollback() }() // nothing was written
			return do(s.newTx(ctx, t, nil))
		})
	})
}

// newTx is a transaction that was begun.
func (s *Store) newTx(ctx context.Context, t *sql.Tx, conn *sql.Conn) tx {
	s.counts.transactions.Add(1)
	return tx{ctx, t, conn, s.dialect, &s.counts}
}

// exec runs a statement, and answers how many rows it wrote.
func (t tx) exec(statement string, args ...any) (int64, error) {
	t.counts.statements.Add(1)
	r, err := t.sql.ExecContext(t.ctx, t.dialect.translateStatement(statement), args...)
	if err != nil {
		return 0, fmt.Errorf("%w (%.60s)", err, statement)
	}
	n, err := r.RowsAffected()
	t.counts.written.Add(n)
	return n, err
}

// boundStatement is one that exec could run.
type boundStatement struct {
	text string
	args []any
}

// execAll runs statements of a transaction that writes. A server gets them all at once: it is waited for once.
func (t tx) execAll(list []boundStatement) error {
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
		all.Queue(t.dialect.translateStatement(s.text), s.args...)
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

// queryRow reads one row; sql.ErrNoRows if there is none.
func (t tx) queryRow(statement string, args ...any) *sql.Row {
	t.counts.statements.Add(1)
	t.counts.read.Add(1)
	return t.sql.QueryRowContext(t.ctx, t.dialect.translateStatement(statement), args...)
}

// queryRows reads rows.
func (t tx) queryRows(scan func(*sql.Rows) error, statement string, args ...any) error {
	t.counts.statements.Add(1)
	rows, err := t.sql.QueryContext(t.ctx, t.dialect.translateStatement(statement), args...)
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

// rowTable is rows for {rows $1}.
type rowTable [][]any

func (t rowTable) toJSON() string {
	if t == nil {
		return "[]"
	}
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // it consists of text and numbers
	}
	return string(text)
}

// columnTable is a table with one column.
func columnTable(list []string) rowTable {
	t := make(rowTable, len(list))
	for i, word := range list {
		t[i] = []any{word}
	}
	return t
}
