package ledger

import (
	"fmt"
	"strings"
)

// Seen is how much a cluster has seen of a ledger: the ledger's head when the last deletion was carried out there.
// Nothing else in the cluster tells what was deleted. Objects that are there have the annotations of their generation.
type Seen struct {
	Epoch  string `json:"epoch"`
	Change int64  `json:"change"`
	Digest string `json:"digest"` // of the change
}

// IDOf is the part of an epoch that a ledger keeps for ever: what is before the point.
func IDOf(epoch string) string {
	id, _, _ := strings.Cut(epoch, ".")
	return id
}

// NextEpoch is the epoch of a ledger that begins at a time, in microseconds: a later one than the one before.
func NextEpoch(epoch string, micros int64) string {
	next := fmt.Sprintf("%s.%016x", IDOf(epoch), micros)
	if next <= epoch { // the clock went back
		_, _ = fmt.Sscanf(strings.TrimPrefix(epoch, IDOf(epoch)), ".%x", &micros)
		next = fmt.Sprintf("%s.%016x", IDOf(epoch), micros+1)
	}
	return next
}

// IsLater tells whether an epoch is of the same ledger as another one, and began later.
func IsLater(epoch, than string) bool { return IDOf(epoch) == IDOf(than) && epoch > than }
