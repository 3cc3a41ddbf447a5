package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"cardea.dev/cardea/internal/core/ledger"
)

// explainError makes an error of a database one that its user understands. Errors of contexts stay what they are.
func explainError(err error) error {
	if err == nil || ledger.CodeOf(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	if e := explainSQLite(err); e != nil {
		return e
	}
	if e := explainPostgres(err); e != nil {
		return e
	}
	return err
}

// isBroken tells whether a connection ended. The last statement may have been executed or not.
func isBroken(err error) bool {
	for _, sign := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, sql.ErrConnDone,
		syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return err != nil && strings.Contains(err.Error(), "conn closed")
}

// objectError is an error about an object.
func objectError(code ledger.Code, k ledger.Key, message, fix string) *ledger.Error {
	return &ledger.Error{Code: code, Object: k.String(), Message: message, Fix: fix}
}
