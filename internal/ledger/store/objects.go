package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// Sizes of pages.
const (
	defaultPage = 100
	maxPage     = 1000
)

func pageSize(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// generationAt joins g, the generation that an object o had after change $1.
const generationAt = `JOIN generations g ON g.object = o.id AND g.generation = CASE
	WHEN o.change <= $1 THEN o.generation
	ELSE (SELECT max(x.generation) FROM generations x WHERE x.object = o.id AND x.change <= $1) END
	LEFT JOIN changes c ON c.number = g.change LEFT JOIN contents k ON k.hash = g.hash AND g.hash <> ''`

// objectColumns are what scanObject reads. The author of a change that is not kept any more is not known.
const objectColumns = `o.target, o.grp, o.kind, o.namespace, o.name, o.id, o.generation, o.hold, g.generation,
	g.revision, g.hash, g.change, coalesce(c.at, 0), coalesce(c.author, ''), coalesce(c.message, ''), coalesce(c.verb, ''),
	k.hash IS NOT NULL, o.created, g.live_since`

// body is the content of the rows of objectColumns, which not every list wants.
const (
	withBody    = `, coalesce(k.key_id, ''), k.body`
	withoutBody = `, '', NULL`
)

// objectRow is an object as it is read, with its content as it is kept.
type objectRow struct {
	ledger.Object
	keyID string
	body  []byte
}

func scanObject(rows *sql.Rows) (o objectRow, err error) {
	var newest, at, created, since int64
	var hold sql.NullString
	var has bool
	err = rows.Scan(&o.Target, &o.Group, &o.Kind, &o.Namespace, &o.Name, &o.ID, &newest, &hold, &o.Generation,
		&o.Revision, &o.Hash, &o.Change, &at, &o.Author, &o.Message, &o.Verb, &has, &created, &since,
		&o.keyID, &o.body)
	if err != nil {
		return o, err
	}
	o.At, o.Created, o.LiveSince = fromMicros(at), fromMicros(created), fromMicros(since)
	o.Forgotten = o.Hash != "" && !has
	if o.Generation == newest {
		o.Hold, err = decodeHold(hold)
	}
	return o, err
}

// openObjects are objects with their contents opened. A Secret that can't be opened stops no other object.
func (s *Store) openObjects(list []objectRow) []ledger.Object {
	objects := make([]ledger.Object, 0, len(list))
	for _, o := range list {
		if o.body != nil {
			var err error
			if o.Content, err = s.openContent(o.keyID, o.Hash, o.body); err != nil {
				o.Unopened = err.Error()
			}
		}
		objects = append(objects, o.Object)
	}
	return objects
}

// resolveAt is the change that a read is about: at, or the newest.
func resolveAt(t tx, at int64) (int64, error) {
	h, err := readHead(t, false)
	switch {
	case err != nil:
		return 0, err
	case at == 0:
		return h.change, nil
	case at > h.change || at < 0:
		return 0, &ledger.Error{Code: ledger.NotFound, Message: fmt.Sprintf("there is no change %d yet", at),
			Fix: fmt.Sprintf("the newest is %d", h.change)}
	case at < h.compacted:
		return 0, compactedError(at, h.compacted)
	}
	return at, nil
}

func compactedError(at, compacted int64) error {
	return &ledger.Error{Code: ledger.Compacted, Message: fmt.Sprintf("what was at change %d is not kept any more", at),
		Fix: fmt.Sprintf("the oldest that can be asked for is change %d", compacted)}
}

// Object is an object as it was after a change.
func (s *Store) Object(ctx context.Context, key ledger.Key, at int64) (ledger.Object, error) {
	list, err := s.Objects(ctx, ledger.ObjectsQuery{Keys: []ledger.Key{key}, At: at, Contents: true, Deleted: true})
	if err != nil {
		return ledger.Object{}, err
	}
	if len(list.Objects) == 0 {
		if at != 0 {
			return ledger.Object{}, objectError(ledger.NotFound, key, fmt.Sprintf("was not in the ledger at change %d", at), "")
		}
		return ledger.Object{}, notFound(key)
	}
	return list.Objects[0], nil
}

func notFound(k ledger.Key) error { return objectError(ledger.NotFound, k, "is not in the ledger", "") }

// Objects lists objects, by key.
func (s *Store) Objects(ctx context.Context, q ledger.ObjectsQuery) (page ledger.Objects, err error) {
	var list []objectRow
	err = s.runRead(ctx, func(t tx) error {
		list = nil
		if page.At, err = resolveAt(t, q.At); err != nil {
			return err
		}
		statement, args, err := objectsStatement(q, page.At)
		if err != nil {
			return err
		}
		return t.queryRows(func(rows *sql.Rows) error {
			o, err := scanObject(rows)
			list = append(list, o)
			return err
		}, statement, args...)
	})
	if err != nil {
		return page, err
	}
	if n := objectsLimit(q); n > 0 && len(list) > n {
		list, page.More = list[:n], true
	}
	page.Objects = s.openObjects(list)
	return page, nil
}

// objectsLimit is the size of a page; 0: all.
func objectsLimit(q ledger.ObjectsQuery) int {
	if len(q.Keys) > 0 {
		return max(q.Limit, 0)
	}
	return pageSize(q.Limit)
}

func objectsStatement(q ledger.ObjectsQuery, at int64) (statement string, args []any, err error) {
	if len(q.Keys) > ledger.MaxEdits {
		return "", nil, &ledger.Error{Code: ledger.TooLarge, Field: "keys",
			Message: fmt.Sprintf("%d keys are asked for, %d are allowed", len(q.Keys), ledger.MaxEdits)}
	}
	w := whereBuilder{args: []any{at}}
	from := "objects o"
	if len(q.Keys) > 0 {
		from = "{rows $2} JOIN objects o ON " + sameKey
		w.args = append(w.args, keyTable(q.Keys).toJSON())
	}
	w.addEquals("o.id", q.ID)
	w.addEquals("o.target", q.Target)
	w.addEquals("o.grp", q.Group)
	w.addEquals("o.kind", q.Kind)
	w.addEquals("o.namespace", q.Namespace)
	if !q.Deleted {
		w.addCondition("g.revision <> 0")
	}
	if k := q.After; k != nil {
		w.addCondition("(o.target, o.namespace, o.kind, o.grp, o.name) > (%s, %s, %s, %s, %s)",
			k.Target, k.Namespace, k.Kind, k.Group, k.Name)
	}
	body := withoutBody
	if q.Contents {
		body = withBody
	}
	statement = "SELECT " + objectColumns + body + " FROM " + from + " " + generationAt + w.whereClause() +
		" ORDER BY o.target, o.namespace, o.kind, o.grp, o.name"
	if n := objectsLimit(q); n > 0 {
		w.args = append(w.args, n+1)
		statement += fmt.Sprintf(" LIMIT $%d", len(w.args))
	}
	return statement, w.args, nil
}

// keyTable is keys for sameKey, each once.
func keyTable(keys []ledger.Key) (rows rowTable) {
	seen := make(map[ledger.Key]bool, len(keys))
	for _, k := range keys {
		if k.Target == "" {
			k.Target = ledger.DefaultTarget
		}
		if !seen[k] {
			seen[k] = true
			rows = append(rows, keyRow(k))
		}
	}
	return rows
}

// whereBuilder collects conditions and their arguments.
type whereBuilder struct {
	conditions []string
	args       []any
}

// addCondition adds a condition; %s stands for an argument.
func (w *whereBuilder) addCondition(condition string, args ...any) {
	names := make([]any, len(args))
	for i, a := range args {
		w.args = append(w.args, a)
		names[i] = fmt.Sprintf("$%d", len(w.args))
	}
	w.conditions = append(w.conditions, fmt.Sprintf(condition, names...))
}

// addEquals adds that a column has a value; "": any.
func (w *whereBuilder) addEquals(column, value string) {
	if value != "" {
		w.addCondition(column+" = %s", value)
	}
}

func (w *whereBuilder) whereClause() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}
