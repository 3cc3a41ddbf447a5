package rest

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// How many denials are noted.
const (
	// noteEvery is the period in which denials are counted. Within it, the same denial is noted once.
	noteEvery = time.Hour
	// notesEach is how many different denials of a caller are noted in a period.
	notesEach = 100
	// notedCallers is how many callers have a count of their own; all others share one.
	notedCallers = 4096
	// noteBytes is how many bytes of an object's name, and of a request, are noted.
	noteBytes = 1024
)

// denialNotes decide which denials are noted, so that no caller fills the disk with them. The others are counted: the
// next denial of the caller that is noted has their number (ledger.Denial.Missed). Keys are subjects.
type denialNotes map[string]*callerNotes

// callerNotes is what was noted of a caller.
type callerNotes struct {
	since  time.Time
	seen   map[[sha256.Size]byte]bool // in this period
	missed int64                      // since the last that was noted
}

// noteDenial tells whether a denial is to be noted, and returns what to note.
func (l *Limits) noteDenial(d ledger.Denial, now time.Time) (ledger.Denial, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.denials == nil {
		l.denials = denialNotes{}
	}
	d.Object, d.Request = clipText(d.Object), clipText(d.Request)
	n := l.denials.notesOf(d.Subject, now)
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", d.Permission, d.Object, d.Request))
	if n.seen[key] || len(n.seen) >= notesEach {
		n.missed++
		return d, false
	}
	n.seen[key] = true
	d.Missed, n.missed = n.missed, 0
	return d, true
}

// clipText is the part of a text that is noted. The caller chose how long the text is.
func clipText(text string) string { return strings.ToValidUTF8(text[:min(len(text), noteBytes)], "") }

// notesOf is what was noted of a caller.
func (all denialNotes) notesOf(subject string, now time.Time) *callerNotes {
	n := all[subject]
	if n == nil {
		if len(all) >= notedCallers {
			all.dropExpired(now)
		}
		if len(all) >= notedCallers {
			subject = ""
			n = all[subject]
		}
	}
	if n == nil {
		n = &callerNotes{}
		all[subject] = n
	}
	if now.Sub(n.since) >= noteEvery {
		n.since, n.seen = now, map[[sha256.Size]byte]bool{}
	}
	return n
}

// dropExpired forgets callers when their period is over.
func (all denialNotes) dropExpired(now time.Time) {
	for subject, n := range all {
		if now.Sub(n.since) >= noteEvery {
			delete(all, subject)
		}
	}
}
