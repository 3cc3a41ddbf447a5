package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// Tokens lists the tokens, by name.
func (s *Store) Tokens(ctx context.Context) (list []ledger.Token, err error) {
	return readBodies[ledger.Token](ctx, s, "SELECT body FROM tokens ORDER BY name")
}

// Token finds a token by its hash.
func (s *Store) Token(ctx context.Context, hash string) (k ledger.Token, err error) {
	list, err := readBodies[ledger.Token](ctx, s,
		"SELECT body FROM tokens WHERE hash = $1 AND (expires = 0 OR expires > {now})", hash)
	if err != nil {
		return k, err
	}
	if len(list) == 0 {
		return k, &ledger.Error{Code: ledger.NotFound, Message: "no such token, or it has expired"}
	}
	return list[0], nil
}

// SetToken makes or changes a token.
func (s *Store) SetToken(ctx context.Context, k ledger.Token, by string) error {
	if k.Name == "" || k.Hash == "" || !isText(k.Name+k.Subject+k.Cluster) {
		return &ledger.Error{Code: ledger.Invalid, Object: "Token " + k.Name, Message: "has no name or no hash"}
	}
	return s.runWrite(ctx, func(t tx) error {
		now, err := readClock(t)
		if err != nil {
			return err
		}
		if k.Made.IsZero() {
			k.Made = fromMicros(now)
		}
		var other string
		err = t.queryRow("SELECT name FROM tokens WHERE hash = $1 AND name <> $2", k.Hash, k.Name).Scan(&other)
		if err == nil {
			return &ledger.Error{Code: ledger.Exists, Object: "Token " + k.Name, Message: "is the same as token " + other}
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := logRegistryEdit(t, by, "Token "+k.Name, k); err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO tokens (name, hash, body, expires, by_whom, at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (name) DO UPDATE SET hash = excluded.hash, body = excluded.body, expires = excluded.expires,
			by_whom = excluded.by_whom, at = excluded.at`, k.Name, k.Hash, encodeJSON(k), toMicros(k.Expires), by, now)
		return err
	})
}

// DeleteToken deletes a token.
func (s *Store) DeleteToken(ctx context.Context, name, by string) error {
	return s.deleteNamed(ctx, "Token", "tokens", name, by)
}

// Grants lists the grants, by name.
func (s *Store) Grants(ctx context.Context) ([]ledger.Grant, error) {
	return readBodies[ledger.Grant](ctx, s, "SELECT body FROM grants ORDER BY name")
}

// SetGrant makes or changes a grant.
func (s *Store) SetGrant(ctx context.Context, g ledger.Grant, by string) error {
	if g.Name == "" || !isText(g.Name) || len(g.Subjects) == 0 || len(g.Permissions) == 0 {
		return &ledger.Error{Code: ledger.Invalid, Object: "Grant " + g.Name, Message: "has no name, subjects or permissions"}
	}
	return s.runWrite(ctx, func(t tx) error {
		now, err := readClock(t)
		if err != nil {
			return err
		}
		if err := logRegistryEdit(t, by, "Grant "+g.Name, g); err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO grants (name, body, by_whom, at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET body = excluded.body, by_whom = excluded.by_whom, at = excluded.at`,
			g.Name, encodeJSON(g), by, now)
		return err
	})
}

// DeleteGrant deletes a grant.
func (s *Store) DeleteGrant(ctx context.Context, name, by string) error {
	return s.deleteNamed(ctx, "Grant", "grants", name, by)
}

func (s *Store) deleteNamed(ctx context.Context, kind, table, name, by string) error {
	return s.runWrite(ctx, func(t tx) error {
		if err := logRegistryEdit(t, by, kind+" "+name, nil); err != nil {
			return err
		}
		n, err := t.exec("DELETE FROM "+table+" WHERE name = $1", name)
		if err == nil && n == 0 {
			return &ledger.Error{Code: ledger.NotFound, Object: kind + " " + name, Message: "is not in the ledger"}
		}
		return err
	})
}

// readBodies reads rows with one column, JSON.
func readBodies[T any](ctx context.Context, s *Store, statement string, args ...any) (list []T, err error) {
	err = s.runRead(ctx, func(t tx) error {
		list = nil
		if _, err := readClock(t); err != nil {
			return err
		}
		return t.queryRows(func(rows *sql.Rows) error {
			var text string
			var v T
			if err := rows.Scan(&text); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return fmt.Errorf("read the ledger: %w", err)
			}
			list = append(list, v)
			return nil
		}, statement, args...)
	})
	return list, err
}
