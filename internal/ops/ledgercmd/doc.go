// Package ledgercmd is `cardea ledger`: the commands that change a ledger, show what was and is, and go back.
//
// Each command opens the ledger that --ledger names: a file, a PostgreSQL database, or the URL of a `cardea ledger
// serve`. It owns flags, texts and exit codes. It must never know SQL, nor what objects mean: package admission checks
// them, package preview asks what they would change. Start reading at NewCommand.
package ledgercmd
