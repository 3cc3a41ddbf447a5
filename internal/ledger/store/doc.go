// Package store keeps a ledger in a database: in a file, by SQLite, or in PostgreSQL 15 and newer.
//
//	Commit --> waiting drafts --> one transaction: lock head, load, ledger.Resolve, write, COMMIT --> answers, hint
//	Watch  --> reads from its last number on, woken by hints: own commits, NOTIFY, the -wal file; and by a clock
//	Claim, Record, Fail, Observe, Report --> rows of work, applied, observed, live
//
// It owns the tables, the statements and the sealing of Secrets. It must never know HTTP, Kubernetes clients, or what
// objects mean; what drafts come to is decided by package ledger. Its methods are called by any goroutines of any
// number of processes: what orders them are the row of head (numbers) and the rows of work (leases), and the only clock
// that counts is the database's.
//
// The statements are the same for both databases; dialect.go is what differs. Times are microseconds since 1970. Ids of
// objects are UUIDs of version 7.
//
// Programs of one version and the next run side by side on one database. So a migration only adds: tables, columns with
// defaults, indices. The version that adds something may use it; one version later, things that are not used any more
// may be removed. A program of the version before that knows neither, so each migration states in head which one a
// program has to know at least (0006_needs.sql), and an older one refuses the ledger, also while it runs.
//
// Start reading at store.go, then committer.go (which drafts share a transaction) and batch.go (what it does).
package store
