package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"cardea.dev/cardea/internal/core/ledger"
)

// serverConnections is how many connections to PostgreSQL a process has at most, besides the one that listens.
const serverConnections = 16

// connectPostgres opens a pool of connections. It connects when the first is needed.
func (s *Store) connectPostgres(url string) error {
	s.dialect, s.location = newPostgres(), url
	config, err := serverConfig(url)
	if err != nil {
		return err
	}
	s.writeDB = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, planning)
		return err
	}))
	s.writeDB.SetMaxOpenConns(serverConnections)
	s.writeDB.SetMaxIdleConns(serverConnections)
	s.writeDB.SetConnMaxIdleTime(5 * time.Minute)
	s.readDB = s.writeDB
	return nil
}

// planning has the server take indices in loops, always. Each statement reads some rows by their keys, and a page at
// most. The server's own plans would read a whole table, once or for each key out of memory (material): it guesses them
// before it has counted the rows of a table that grew just now, or keeps them from when the table was small.
const planning = `SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off;
	SET enable_mergejoin = off; SET enable_material = off; SET jit = off`

// serverConfig is how a server is connected to. The parameters have the server end what a process that stopped left
// open: it must not hold the row of head for ever.
func serverConfig(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The library's words leave out the password.
		return nil, &ledger.Error{Code: ledger.Invalid, Field: "url", Cause: err,
			Message: "is no URL of a PostgreSQL server: " + err.Error(),
			Fix:     "write postgres://user:password@host:5432/database"}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	for name, value := range map[string]string{
		"application_name": "cardea", "idle_in_transaction_session_timeout": "15s", "lock_timeout": "15s",
		"tcp_user_timeout": "15s", "client_connection_check_interval": "5s",
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	return config, nil
}

// isContended tells whether the server ended a transaction because another one stood in its way.
func isContended(err error) bool {
	of, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (of.Code == "40001" || of.Code == "40P01") // serialization_failure, deadlock_detected
}

// explainPostgres says what an error of PostgreSQL, or of the connection to it, means to a user; nil if it is another
// one.
func explainPostgres(err error) *ledger.Error {
	e := &ledger.Error{Code: ledger.Unavailable, Cause: err}
	if of, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case of.Code == "53100": // disk_full
			e.Message, e.Fix = "the database's disk is full: nothing was written", "make room; no restart is needed"
		case isContended(err):
			e.Message, e.Fix = "something else was written at the same time", "try again"
		case of.Code == "22P05" || of.Code == "22021": // untranslatable_character, character_not_in_repertoire
			e.Code, e.Message, e.Fix = ledger.Invalid, "a name of the request "+notText, "write names without such characters"
		case of.Code == "55P03": // lock_not_available
			e.Message, e.Fix = "another process has been writing to the ledger for too long", "try again"
		case of.Code == "42P01" || of.Code == "42703": // undefined_table, undefined_column
			e.Message = "the database has no tables of this version: " + of.Message
			e.Fix = "run `cardea ledger migrate`, of this program or of a newer one"
		case strings.HasPrefix(of.Code, "08"), strings.HasPrefix(of.Code, "53"), strings.HasPrefix(of.Code, "57P"),
			of.Code == "25P03", of.Code == "25006", strings.HasPrefix(of.Code, "28"), of.Code == "3D000", of.Code == "42501":
			e.Message, e.Fix = "the database refuses: "+of.Message, "look at the server, its log and the ledger's URL"
		default:
			return nil
		}
		return e
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	if connecting || network || isBroken(err) || errors.Is(err, context.DeadlineExceeded) {
		e.Message, e.Fix = fmt.Sprintf("the database can't be reached: %v", err), "look at the server and the ledger's URL"
		return e
	}
	return nil
}
