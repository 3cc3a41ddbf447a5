package rest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestDenialsOfATime: when the time of a caller is over, what was noted is noted again, with how many were missed. How
// many callers are counted apart, and how much of an attempt is noted, has a bound.
func TestDenialsOfATime(t *testing.T) {
	l, now := NewLimits(0), time.Unix(1e9, 0)
	try := func(subject, request string) (ledger.Denial, bool) {
		return l.noteDenial(ledger.Denial{Subject: subject, Permission: ledger.MayRead, Request: request}, now)
	}
	if d, ok := try("eve", "GET /"); !ok || d.Missed != 0 {
		t.Errorf("the first one: %+v, %v", d, ok)
	}
	for range 3 {
		if d, ok := try("eve", "GET /"); ok {
			t.Errorf("the same again: %+v", d)
		}
	}
	if d, ok := try("bob", "GET /"); !ok || d.Missed != 0 {
		t.Errorf("another caller's: %+v, %v", d, ok)
	}
	now = now.Add(noteEvery)
	if d, ok := try("eve", "GET /"); !ok || d.Missed != 3 {
		t.Errorf("later: %+v, %v", d, ok)
	}
	if d, ok := try("eve", strings.Repeat("é", 1<<20)); !ok || len(d.Request) > noteBytes {
		t.Errorf("a long one: %d bytes, %v", len(d.Request), ok)
	}
	noted := 0
	for i := range 2 * notedCallers {
		if _, ok := try(fmt.Sprint("caller", i), fmt.Sprint("GET /", i)); ok {
			noted++
		}
	}
	if len(l.denials) > notedCallers+1 || noted > notedCallers+notesEach {
		t.Errorf("%d callers are counted apart, %d denials were noted", len(l.denials), noted)
	}
	now = now.Add(noteEvery)
	if _, ok := try("a new one", "GET /"); !ok || len(l.denials) > 1 {
		t.Errorf("later: %v, %d callers are counted", ok, len(l.denials))
	}
}
