package store

import "sync/atomic"

// Counts are what a store asked of its database since it was opened: what a question costs does not depend on the
// machine.
type Counts struct {
	Transactions int64 // that were begun
	Statements   int64 // within those, BEGIN and COMMIT not counted
	Read         int64 // rows that the database answered
	Written      int64 // rows that statements wrote
}

// counters are Counts while they grow.
type counters struct{ transactions, statements, read, written atomic.Int64 }

// Counts tells them.
func (s *Store) Counts() Counts {
	c := &s.counts
	return Counts{c.transactions.Load(), c.statements.Load(), c.read.Load(), c.written.Load()}
}

// Since are the counts since earlier ones.
func (c Counts) Since(e Counts) Counts {
	return Counts{c.Transactions - e.Transactions, c.Statements - e.Statements, c.Read - e.Read, c.Written - e.Written}
}
