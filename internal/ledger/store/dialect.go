package store

import (
	"database/sql"
	"regexp"
	"strings"
	"sync"
)

// dialect is all that differs between the databases. Statements are written once, with placeholders $1, $2 ... and
// these words:
//
//	{now}       the database's clock, in microseconds since 1970
//	{rows $1}   the rows of a JSON array of arrays, as r: a column is CAST(r.value->>0 AS bigint) or r.value->>1
//	{list $1}   the strings of a JSON array of arrays with one string each, for IN (...)
//	{lock}      locks the rows that are selected
//	{skip}      locks those of w that nobody else has locked
type dialect struct {
	name       string
	words      *strings.Replacer
	rows       string // the text of {rows $1}, with $1
	migrations string // the folder of migrations
	newest     int64  // of them

	texts sync.Map // statements as the database wants them, by how they are written here
}

func newSQLite() *dialect {
	const folder = "migrations/sqlite"
	return &dialect{
		name: "sqlite3", migrations: folder, newest: newestOf(folder),
		words: strings.NewReplacer("{now}", "CAST(unixepoch('subsec') * 1000000 AS bigint)", "{lock}", "", "{skip}", ""),
		rows:  "json_each($1) AS r",
	}
}

func newPostgres() *dialect {
	const folder = "migrations/postgres"
	return &dialect{
		name: "postgres", migrations: folder, newest: newestOf(folder),
		words: strings.NewReplacer("{now}", "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
			"{lock}", "FOR UPDATE", "{skip}", "FOR UPDATE OF w SKIP LOCKED"),
		rows: "json_array_elements(CAST(CAST($1 AS text) AS json)) AS r(value)",
	}
}

var (
	rowsWord    = regexp.MustCompile(`\{(rows|list) (\$\d+)\}`)
	placeholder = regexp.MustCompile(`\$(\d+)`)
)

// text is a statement as the database wants it.
func (d *dialect) text(written string) string {
	if text, ok := d.texts.Load(written); ok {
		return text.(string)
	}
	text := d.words.Replace(written)
	text = rowsWord.ReplaceAllStringFunc(text, func(word string) string {
		m := rowsWord.FindStringSubmatch(word)
		rows := strings.ReplaceAll(d.rows, "$1", m[2])
		if m[1] == "list" {
			return "SELECT r.value->>0 FROM " + rows
		}
		return rows
	})
	if d.name == "sqlite3" {
		text = placeholder.ReplaceAllString(text, "?$1")
	}
	d.texts.Store(written, text)
	return text
}

// snapshot is how a transaction that only reads begins: it sees one state.
func (d *dialect) snapshot() *sql.TxOptions {
	if d.name == "postgres" {
		return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	return nil // a transaction of SQLite does
}
