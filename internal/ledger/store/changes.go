package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/ledger"
)

const changeColumns = `c.number, c.at, c.author, c.via, c.message, c.verb, c.about, c.digest, c.edits`

func scanChange(rows *sql.Rows) (c ledger.Change, edits int, err error) {
	var at int64
	err = rows.Scan(&c.Number, &at, &c.Author, &c.Via, &c.Message, &c.Verb, &c.Of, &c.Digest, &edits)
	c.At = fromMicros(at)
	return c, edits, err
}

// Change is one change.
func (s *Store) Change(ctx context.Context, number int64) (c ledger.Change, err error) {
	err = s.runRead(ctx, func(t tx) error {
		c, err = readChange(t, number)
		return err
	})
	return c, err
}

// readChange reads a change as it was chained.
func readChange(t tx, number int64) (ledger.Change, error) {
	if number <= 0 {
		return ledger.Change{}, noChange(number)
	}
	if _, err := resolveAt(t, number); err != nil {
		return ledger.Change{}, err
	}
	list, _, err := readChanges(t, "WHERE c.number = $1", number)
	if err == nil && len(list) == 0 {
		err = noChange(number)
	}
	if err != nil {
		return ledger.Change{}, err
	}
	return list[0], nil
}

func noChange(number int64) error {
	return &ledger.Error{Code: ledger.NotFound, Message: fmt.Sprintf("there is no change %d", number)}
}

// readChanges reads the changes of a condition, with what they edited; cut: there are more than fit into memory well.
func readChanges(t tx, condition string, args ...any) (list []ledger.Change, cut bool, err error) {
	index, edits := map[int64]int{}, 0
	err = t.queryRows(func(rows *sql.Rows) error {
		c, n, err := scanChange(rows)
		if edits += n; cut || edits > ledger.MaxEdits && len(list) > 0 {
			cut = true
			return err
		}
		index[c.Number] = len(list)
		list = append(list, c)
		return err
	}, "SELECT "+changeColumns+" FROM changes c "+condition, args...)
	if err != nil || len(list) == 0 {
		return list, false, err
	}
	numbers := make(rowTable, len(list))
	for i, c := range list {
		numbers[i] = []any{c.Number}
	}
	err = t.queryRows(func(rows *sql.Rows) error {
		var number int64
		var e ledger.Edited
		err := rows.Scan(&number, &e.Target, &e.Group, &e.Kind, &e.Namespace, &e.Name, &e.ID, &e.Generation, &e.Revision,
			&e.Hash, &e.BeforeRev)
		if err != nil {
			return err
		}
		e.Before = e.Generation - 1
		c := &list[index[number]]
		c.Edited = append(c.Edited, e)
		return nil
	}, `SELECT g.change, o.target, o.grp, o.kind, o.namespace, o.name, o.id, g.generation, g.revision, g.hash,
		g.before_revision FROM {rows $1} JOIN generations g ON g.change = CAST(r.value->>0 AS bigint)
		JOIN objects o ON o.id = g.object`, numbers.toJSON())
	for _, c := range list {
		slices.SortFunc(c.Edited, func(a, b ledger.Edited) int { return a.Key.Compare(b.Key) })
	}
	return list, cut, err
}

// Changes lists changes.
func (s *Store) Changes(ctx context.Context, q ledger.ChangesQuery) (page ledger.Changes, err error) {
	n := pageSize(q.Limit)
	err = s.runRead(ctx, func(t tx) error {
		w, order := whereBuilder{}, "DESC"
		h, err := readHead(t, false)
		if err != nil {
			return err
		}
		if q.Oldest {
			order = "ASC"
			if q.After != 0 && q.After < h.compacted {
				return compactedError(q.After, h.compacted)
			}
			w.addCondition("c.number > %s", q.After)
		} else if q.After != 0 {
			w.addCondition("c.number < %s", q.After)
		}
		w.addCondition("c.number >= %s", h.compacted) // older rows are kept for the objects that they made
		w.addEquals("c.author", q.Author)
		if k := q.Object; k != nil {
			w.addCondition("c.number IN (SELECT x.change FROM {rows %s} JOIN objects o ON "+sameKey+
				" JOIN generations x ON x.object = o.id)", keyTable([]ledger.Key{*k}).toJSON())
		}
		w.args = append(w.args, n+1)
		page.Changes, page.More, err = readChanges(t,
			fmt.Sprintf("%s ORDER BY c.number %s LIMIT $%d", w.whereClause(), order, len(w.args)), w.args...)
		return err
	})
	if len(page.Changes) > n {
		page.Changes, page.More = page.Changes[:n], true
	}
	return page, err
}
