package status

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// counter is a queue under a clock of its own, and when it handed out what.
type counter struct {
	*queue
	t     *testing.T
	start time.Time
	ref   model.ObjectRef
}

// at tells a story about one route at a queue that knows of all objects.
func at(t *testing.T, story func(*counter)) {
	synctest.Test(t, func(t *testing.T) {
		m, err := newMetrics(nil)
		if err != nil {
			t.Fatal(err)
		}
		d := newQueue([]*statusKind{routeKind}, m)
		d.startPlacing()
		d.recordAllSeen(model.KindHTTPRoute, nil)
		story(&counter{d, t, time.Now(), model.Ref(model.KindHTTPRoute, "shop", "web")})
	})
}

// Digests of a route at a generation: acknowledged, waiting for it, with a broken reference (acknowledged, waiting),
// with another message.
func acked(generation int64) digest {
	return digest{facts: 1, programmed: 1, fields: uint64(generation), texts: 1, generation: generation, hasOurs: true}
}

func pending(generation int64) digest {
	d := acked(generation)
	d.programmed, d.pending = 2, []uint64{1}
	return d
}

func broken(generation int64) digest {
	d := acked(generation)
	d.facts, d.hasErrors = 2, true
	return d
}

func breaking(generation int64) digest {
	d := broken(generation)
	d.programmed, d.pending = 2, []uint64{1}
	return d
}

func reworded(generation int64) digest {
	d := acked(generation)
	d.texts = 2
	return d
}

// has: the API server has a status.
func (c *counter) has(version uint64, seen digest) {
	c.recordSeen(c.ref, snapshot{version: version, generation: seen.generation, seen: seen})
}

// wants: a report asks for a status.
func (c *counter) wants(want digest) { c.setWanted(c.ref, want) }

// handsOut fails unless the route is handed out that long after the beginning.
func (c *counter) handsOut(after time.Duration) job {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Hour)
	defer cancel()
	j, ok := c.nextJob(ctx)
	if got := time.Since(c.start); !ok || got != after {
		c.t.Fatalf("handed out after %v (%v), want %v", got, ok, after)
	}
	return j
}

// rests fails if anything is handed out within hours.
func (c *counter) rests() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Hour)
	defer cancel()
	if j, ok := c.nextJob(ctx); ok {
		c.t.Fatalf("%v handed out after %v", j.ref, time.Since(c.start))
	}
}

// writes says that a status was written.
func (c *counter) writes(version uint64, d digest) {
	c.finishJob(c.ref, jobOutcome{result: written, want: d, after: &snapshot{version: version, generation: d.generation,
		seen: d}})
}

func TestAnEditIsWrittenWithItsAcknowledgement(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(acked(1))
		c.wants(pending(2))
		time.Sleep(50 * time.Millisecond)
		c.wants(acked(2))
		c.handsOut(50 * time.Millisecond)
		c.writes(2, acked(2))
		c.has(2, acked(2))
		c.rests()
	})
}

func TestAnEditWithoutAcknowledgementIsWrittenWhenTheWaitEnds(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(pending(2))
		time.Sleep(time.Second)
		c.wants(pending(3)) // the next edit does not put it off
		c.handsOut(ackTimeout)
		c.writes(3, pending(3))
		time.Sleep(time.Second)
		c.wants(acked(3))
		c.handsOut(3 * time.Second)
		c.writes(4, acked(3))
		c.rests()
	})
}

// A controller that starts knows of no proxy yet: what they had acknowledged stands until they are back, or for a
// while.
func TestAStartWaitsForTheProxies(t *testing.T) {
	at(t, func(c *counter) {
		begin := func() {
			c.start = time.Now()
			c.queue = newQueue([]*statusKind{routeKind}, c.metrics)
			c.recordAllSeen(model.KindHTTPRoute, map[model.ObjectRef]snapshot{c.ref: {version: 1, generation: 1,
				seen: acked(1)}})
			c.wants(pending(1))
			c.queue.startPlacing()
			time.Sleep(20 * time.Second)
		}
		begin()
		c.wants(acked(1))
		c.rests()
		begin()
		again := pending(1)
		again.texts++
		c.wants(again)
		c.handsOut(startTimeout)
		c.writes(2, again)
		begin()
		c.wants(pending(2)) // an edit
		c.handsOut(20 * time.Second)
		begin()
		c.wants(reworded(1)) // one of two is back
		time.Sleep(time.Second)
		c.wants(acked(1))
		c.rests()
	})
}

// What is deployed was not looked at yet: what it may turn out to be is not said, neither that it is well nor that it
// is not.
func TestAStartWaitsForWhatIsDeployed(t *testing.T) {
	for _, stands := range []digest{acked(1), broken(1)} {
		at(t, func(c *counter) {
			begin := func() {
				c.start = time.Now()
				c.queue = newQueue([]*statusKind{routeKind}, c.metrics)
				c.recordAllSeen(model.KindHTTPRoute, map[model.ObjectRef]snapshot{c.ref: {version: 1, generation: 1, seen: stands}})
				for _, early := range []digest{broken(1), acked(1)} {
					early.fields, early.tentative = 77, true // no address
					c.wants(early)
				}
				c.queue.startPlacing()
				time.Sleep(20 * time.Second)
			}
			begin()
			c.wants(stands)
			c.rests()
			begin()
			c.handsOut(startTimeout)
			begin()
			c.wants(pending(2)) // an edit
			c.handsOut(20 * time.Second)
		})
	}
}

func TestABrokenReferenceIsWrittenAtOnce(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(broken(2))
		c.handsOut(0)
	})
}

// TestANewRouteIsWrittenWithItsAcknowledgement: it is accepted at once, and that can wait for a moment; what is wrong,
// for less.
func TestANewRouteIsWrittenWithItsAcknowledgement(t *testing.T) {
	for _, c := range []struct {
		waits, acked digest
		atMost       time.Duration
	}{{pending(1), acked(1), goodNewsDelay}, {breaking(1), broken(1), badNewsDelay}} {
		for _, known := range []bool{false, true} {
			at(t, func(c2 *counter) {
				if known {
					c2.has(1, digest{generation: 1, isUnwritten: true})
				}
				c2.wants(c.waits)
				time.Sleep(c.atMost / 2)
				c2.wants(c.acked)
				c2.handsOut(c.atMost / 2)
				c2.writes(2, c.acked)
				c2.rests()
			})
			at(t, func(c2 *counter) {
				if known {
					c2.has(1, digest{generation: 1, isUnwritten: true})
				}
				c2.wants(c.waits)
				c2.handsOut(c.atMost)
				c2.writes(2, c.waits)
				c2.rests()
			})
		}
	}
}

// TestAReportOfThePredecessorIsNotWritten: an object was deleted and made again, and the report is still that of the
// first one.
func TestAReportOfThePredecessorIsNotWritten(t *testing.T) {
	at(t, func(c *counter) {
		of := func(uid uint64, d digest) digest {
			d.uid = uid
			return d
		}
		c.wants(of(1, broken(1)))
		c.has(2, of(2, digest{generation: 1, isUnwritten: true}))
		c.rests()
		c.wants(of(2, acked(1)))
		if j := c.handsOut(5 * time.Hour); j.unwritten == nil || j.unwritten.seen.uid != 2 {
			t.Errorf("as it is: %+v", j.unwritten)
		}
		c.writes(3, of(2, acked(1)))
		c.rests()
	})
}

// TestAListIsBelieved: the API server's store was put back to an earlier state, so versions are lower, and a status is
// an old one.
func TestAListIsBelieved(t *testing.T) {
	at(t, func(c *counter) {
		c.wants(acked(1))
		c.has(1000, acked(1))
		c.rests()
		c.recordAllSeen(model.KindHTTPRoute, map[model.ObjectRef]snapshot{c.ref: {version: 500, generation: 1,
			seen: broken(1)}})
		c.handsOut(5 * time.Hour)
		c.writes(501, acked(1))
		c.has(502, broken(1))
		c.handsOut(5*time.Hour + repairInterval)
	})
}

// TestWhatTurnsOutToBeWrittenIsAskedForLessAndLess: what is known of an object is wrong for whatever reason. It is not
// read in a loop.
func TestWhatTurnsOutToBeWrittenIsAskedForLessAndLess(t *testing.T) {
	for _, r := range []result{unchanged, stale} {
		at(t, func(c *counter) {
			c.has(1000, acked(1))
			c.wants(broken(1))
			var total time.Duration
			for n := range uint8(5) {
				c.handsOut(total)
				c.finishJob(c.ref, jobOutcome{result: r, after: &snapshot{version: 500, generation: 1, seen: broken(1)},
					want: broken(1)})
				total += backoffDelay(failInterval, n, failMax)
			}
			c.wants(broken(2))
			c.handsOut(total - backoffDelay(failInterval, 4, failMax))
			c.finishJob(c.ref, jobOutcome{result: unchanged, after: &snapshot{version: 1001, generation: 2, seen: broken(2)},
				want: broken(2)})
			c.rests()
		})
	}
}

func TestWordsArePaced(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(acked(2))
		c.handsOut(0)
		c.writes(2, acked(2))
		c.wants(reworded(2))
		time.Sleep(10 * time.Millisecond)
		c.handsOut(textInterval)
		c.writes(3, reworded(2))
		c.rests()
	})
}

func TestAnEditUndoneIsNotWritten(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(pending(1))
		time.Sleep(time.Second)
		c.wants(acked(1))
		c.rests()
	})
}

func TestLatestWins(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(broken(2))
		c.handsOut(0)
		c.wants(broken(3)) // while the write is under way
		c.wants(broken(4))
		c.rests()
		c.writes(2, broken(2))
		c.handsOut(5 * time.Hour)
	})
}

func TestOurEntriesAreTakenAwayLater(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(acked(1))
		c.wants(digest{})
		c.handsOut(ackTimeout)
		c.writes(2, digest{})
		c.rests()
		if len(c.objects) != 0 {
			t.Errorf("%d objects are kept, and none is ours", len(c.objects))
		}
	})
}

func TestAnObjectThatGoesIsNotWritten(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(digest{})
		c.recordDeletion(c.ref, 2)
		c.rests()
	})
}

func TestAnObjectMadeAgainIsWritten(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(acked(1))
		c.recordDeletion(c.ref, 2)
		c.rests()
		c.has(3, digest{generation: 1, isUnwritten: true})
		if j := c.handsOut(5 * time.Hour); j.unwritten == nil {
			t.Error("it is read although nobody has written it")
		}
	})
}

func TestNothingIsWrittenBeforeAllIsKnown(t *testing.T) {
	at(t, func(c *counter) {
		c.queue = newQueue([]*statusKind{routeKind}, c.metrics)
		c.has(1, acked(1)) // an entry of ours, and no report yet
		c.rests()
		c.recordAllSeen(model.KindHTTPRoute, map[model.ObjectRef]snapshot{c.ref: {version: 1, generation: 1, seen: acked(1)}})
		c.rests()
		c.wants(acked(1))
		c.queue.startPlacing()
		c.rests()
	})
}

func TestAnOlderSightIsDropped(t *testing.T) {
	at(t, func(c *counter) {
		c.wants(acked(1))
		c.handsOut(0)
		c.writes(7, acked(1))
		c.has(5, digest{generation: 1})
		c.rests()
	})
}

func TestAReportThatLagsIsNotWritten(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(broken(1))
		newer := acked(1)
		c.recordSeen(c.ref, snapshot{version: 2, generation: 2, seen: newer})
		c.rests()
		c.wants(broken(2))
		c.handsOut(5 * time.Hour)
	})
}

func TestRepairsSlowDown(t *testing.T) {
	at(t, func(c *counter) {
		c.has(1, acked(1))
		c.wants(broken(2))
		c.handsOut(0)
		version := uint64(2)
		c.writes(version, broken(2))
		var total time.Duration
		for n := range uint8(12) {
			version++
			c.has(version, acked(1))
			total += backoffDelay(repairInterval, n, repairMax)
			c.handsOut(total)
			version++
			c.writes(version, broken(2))
		}
		if total < 10*time.Minute {
			t.Errorf("12 repairs within %v", total)
		}
		time.Sleep(repairQuiet + 1)
		c.has(version+1, acked(1))
		c.handsOut(total + repairQuiet + 1)
	})
}

func TestFailuresSlowDownAndAChangeTriesAgain(t *testing.T) {
	at(t, func(c *counter) {
		c.wants(acked(1))
		var total time.Duration
		for n := range uint8(10) {
			c.handsOut(total)
			c.finishJob(c.ref, jobOutcome{result: failed})
			total += backoffDelay(failInterval, n, failMax)
		}
		c.wants(acked(2))
		c.handsOut(total - failMax)
		c.finishJob(c.ref, jobOutcome{result: refused, retry: refusedInterval})
		c.handsOut(total - failMax + refusedInterval)
	})
}

func TestWhatChangesGoesBeforeWhatWasThere(t *testing.T) {
	at(t, func(c *counter) {
		c.queue = newQueue([]*statusKind{routeKind}, c.metrics)
		c.recordAllSeen(model.KindHTTPRoute, nil)
		for _, name := range []string{"a", "b"} {
			c.setWanted(model.Ref(model.KindHTTPRoute, "shop", name), acked(1))
		}
		c.queue.startPlacing()
		c.handsOut(0)
		time.Sleep(time.Second)
		c.setWanted(model.Ref(model.KindHTTPRoute, "shop", "edited"), acked(1))
		if j := c.handsOut(time.Second); j.ref.Name() != "edited" {
			t.Errorf("%v goes before what was edited", j.ref)
		}
		c.handsOut(time.Second)
	})
}

func TestWhatTheAPIServerMakesOfItIsSettled(t *testing.T) {
	at(t, func(c *counter) {
		c.wants(acked(1))
		c.handsOut(0)
		pruned := acked(1)
		pruned.fields = 77
		c.finishJob(c.ref, jobOutcome{result: written, want: acked(1), after: &snapshot{version: 1, generation: 1,
			seen: pruned}})
		c.rests()
		c.has(2, digest{generation: 1})
		c.handsOut(5 * time.Hour)
	})
}

func TestThePauseWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pause{}
		start := time.Now()
		for range 20 {
			if !p.wait(t.Context()) {
				t.Fatal("it ended")
			}
			p.recordResult(unavailable, 0)
			p.recordResult(unavailable, 0) // it was under way, too
		}
		if took := time.Since(start); took < 20*time.Second || took > 45*time.Second {
			t.Errorf("20 tries within %v", took)
		}
		if !p.isPaused() {
			t.Error("it is over before anything worked")
		}
		p.wait(t.Context())
		start = time.Now()
		p.recordResult(unavailable, 30*time.Second)
		if p.wait(t.Context()); time.Since(start) != 30*time.Second {
			t.Errorf("asked again after %v", time.Since(start))
		}
		p.recordResult(written, 0)
		if p.isPaused() {
			t.Error("it goes on although the API server answers")
		}
	})
}
