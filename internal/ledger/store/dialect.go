package store

import (
	"database/sql"
	"regexp"
	"strings"
	"sync"
)

// sqlDialect is all that differs between the databases. Statements are written once, with placeholders $1, $2 ... and
// these words:
//
//	{now}       the database's clock, in microseconds since 1970
//	{rows $1}   the rows of a JSON array of arrays, as r: a column is CAST(r.value->>0 AS bigint) or r.value->>1
//	{list $1}   the strings of a JSON array of arrays with one string each, for IN (...)
//	{lock}      locks the rows that are selected
//	{skip}      locks those of w that nobody else has locked
type sqlDialect struct {
	name            string
	replacer        *strings.Replacer
	rows            string // the text of {rows $1}, with $1
	migrations      string // the folder of migrations
	newestMigration int64  // of them

	translated sync.Map // statements as the database wants them, by how they are written here
}

func newSQLite() *sqlDialect {
	const folder = "migrations/sqlite"
	return &sqlDialect{
		name: "sqlite3", migrations: folder, newestMigration: newestOf(folder),
		replacer: strings.NewReplacer("{now}", "CAST(unixepoch('subsec') * 1000000 AS bigint)", "{lock}", "", "{skip}", ""),
		rows:     "json_each($1) AS r",
	}
}

func newPostgres() *sqlDialect {
	const folder = "migrations/postgres"
	return &sqlDialect{
		name: "postgres", migrations: folder, newestMigration: newestOf(folder),
		replacer: strings.NewReplacer("{now}", "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
			"{lock}", "FOR UPDATE", "{skip}", "FOR UPDATE OF w SKIP LOCKED"),
		rows: "json_array_elements(CAST(CAST($1 AS text) AS json)) AS r(value)",
	}
}

var (
	rowsWord    = regexp.MustCompile(`\{(rows|list) (\$\d+)\}`)
	placeholder = regexp.MustCompile(`\$(\d+)`)
)

// translateStatement is a statement as the database wants it.
func (d *sqlDialect) translateStatement(written string) string {
	if text, ok := d.translated.Load(written); ok {
		return text.(string)
	}
	text := d.replacer.Replace(written)
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
	d.translated.Store(written, text)
	return text
}

// readOptions is how a transaction that only reads begins: it sees one state.
func (d *sqlDialect) readOptions() *sql.TxOptions {
	if d.name == "postgres" {
		return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	return nil // a transaction of SQLite does
}
