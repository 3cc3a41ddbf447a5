package rest

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"cardea.dev/cardea/internal/ledger"
)

// How many denials are noted.
const (
	// noteEvery is the time for which they are counted. Within it, the same denial is noted once.
	noteEvery = time.Hour
	// notesEach is how many different ones of a caller are noted within that.
	notesEach = 100
	// notedCallers is how many callers are counted apart; all others are counted together.
	notedCallers = 4096
	// noteBytes is how much of an object's name and of a request is noted.
	noteBytes = 1024
)

// denials decide which denials are noted, so that nobody fills the disk with them. The others are counted, and the next
// one that is noted of the caller says how many they were.
type denials map[string]*noted

// noted is what was noted of a caller.
type noted struct {
	since  time.Time
	seen   map[[sha256.Size]byte]bool // in this time
	missed int64                      // since the last that was noted
}

// note tells whether a denial is to be noted, and how it is.
func (l *Limits) note(d ledger.Denial, now time.Time) (ledger.Denial, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.denials == nil {
		l.denials = denials{}
	}
	d.Object, d.Request = clipped(d.Object), clipped(d.Request)
	n := l.denials.of(d.Subject, now)
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", d.Permission, d.Object, d.Request))
	if n.seen[key] || len(n.seen) >= notesEach {
		n.missed++
		return d, false
	}
	n.seen[key] = true
	d.Missed, n.missed = n.missed, 0
	return d, true
}

// clipped is as much of a text as is noted: who sends it chooses how long it is.
func clipped(text string) string { return strings.ToValidUTF8(text[:min(len(text), noteBytes)], "") }

// of is what was noted of a caller.
func (all denials) of(subject string, now time.Time) *noted {
	n := all[subject]
	if n == nil {
		if len(all) >= notedCallers {
			all.tidy(now)
		}
		if len(all) >= notedCallers {
			subject = ""
			n = all[subject]
		}
	}
	if n == nil {
		n = &noted{}
		all[subject] = n
	}
	if now.Sub(n.since) >= noteEvery {
		n.since, n.seen = now, map[[sha256.Size]byte]bool{}
	}
	return n
}

// tidy forgets callers whose time is over.
func (all denials) tidy(now time.Time) {
	for subject, n := range all {
		if now.Sub(n.since) >= noteEvery {
			delete(all, subject)
		}
	}
}
