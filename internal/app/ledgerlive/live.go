// Package ledgerlive tells a ledger what became of its changes in the proxies of this Cardea: which generation of an
// object they acknowledged, or refused, and in which words.
//
//	feed --feed--> pending --(each turn of the graph)--> acknowledged or refused --Report--> ledger
//
// A route is live at a Gateway when its proxies acknowledged all of its rules as they are now. Any other object is live
// when each proxy has acknowledged everything that followed from it: whatever else came before is then live, too. An
// object is refused, in Cardea's words, if Cardea itself does not accept it or finds errors in it, or if its change
// brought errors of others (brought.go). It is refused, too, if a proxy refused a part of it. A refusal of another
// object counts as an answer of the proxy, too. A Gateway without proxies is waited for, and the ledger is told so.
// Objects that were refused, or wait for proxies, are looked at again in each turn: when the obstacle is gone, they are
// live.
//
// It owns which generations are pending, and that this Cardea has its name in the ledger: it reports nothing before
// that. It must never know databases or HTTP. Work is done per pending object and turn, and for findings that change.
// Any goroutine may feed it; Run is the one that looks. Start reading at look.go.
package ledgerlive

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

// Proxies is what knows how far proxies are: xds.Server.
type Proxies interface {
	SeenRevision() flow.Rev
	CountUnanswered() map[model.ObjectRef]int
}

// Config of a Tracker.
type Config struct {
	World   *world.World
	Ledger  ledger.Work
	Target  string // which this Cardea reads
	Cluster string // the name that it reports under
	Proxies Proxies
	// WhyNotTaken says why an object's newest version did not go into the graph; "" if it did, or is about to.
	WhyNotTaken func(model.ObjectRef) string
	Log         *slog.Logger
}

// Tracker follows what is pending.
type Tracker struct {
	Config

	mu      sync.Mutex
	pending map[model.ObjectRef]ledger.Object
	held    map[model.ObjectRef]heldObject // are looked at again in each turn: what was in their way may be gone
	fresh   chan struct{}                  // capacity 1: something is pending that was not
	began   time.Time                      // when Run did

	errorTracker
}

// heldObject is an object that was refused, perhaps in part, or that waits for proxies, and what the ledger was told of
// it.
type heldObject struct {
	ledger.Object
	rows []ledger.Live
}

// isWaiting tells whether it waits for proxies that are not there.
func (h heldObject) isWaiting() bool {
	return slices.ContainsFunc(h.rows, func(l ledger.Live) bool { return l.Waits != "" })
}

// New makes a Tracker.
func New(c Config) *Tracker {
	return &Tracker{Config: c, pending: map[model.ObjectRef]ledger.Object{}, held: map[model.ObjectRef]heldObject{},
		fresh: make(chan struct{}, 1), errorTracker: errorTracker{errors: c.World.FollowFindings(),
			brought: map[int64][]model.Finding{}}}
}

// AddPending takes that objects went into the graph.
func (t *Tracker) AddPending(list []ledger.Object) {
	t.mu.Lock()
	for _, o := range list {
		ref := model.Ref(model.KindOf(o.Group, o.Kind), o.Namespace, o.Name)
		t.pending[ref] = o
		delete(t.held, ref)
	}
	t.mu.Unlock()
	select {
	case t.fresh <- struct{}{}:
	default:
	}
}

const (
	// lookInterval is how soon a look is repeated while something is pending and the graph has no turn: proxies that
	// acknowledge what changes nothing in the graph make none.
	lookInterval = 20 * time.Millisecond
	// manyPending are pending after a start. Then looks have a pause between them, however many turns the graph has.
	manyPending = 100
	// maxReported is how many rows are reported at once: others write, too.
	maxReported = 1000
	// connectGrace is how long after a start it is not told that proxies are missing: they are about to connect.
	connectGrace = 3 * time.Second
)

// Run looks after each turn until ctx is done. The error says that another Cardea has its name.
func (t *Tracker) Run(ctx context.Context) error {
	end, err := t.claimName(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	defer end()
	defer t.errors.Stop()
	t.began = time.Now()
	turns := t.World.Graph.Notify(ctx)
	var again <-chan time.Time
	var next time.Time // no look before that
	for {
		select {
		case _, open := <-turns:
			if !open {
				return nil
			}
		case <-t.fresh:
		case <-again:
		}
		if wait := time.Until(next); wait > 0 {
			again = time.After(wait)
			continue
		}
		again = nil
		left, all := t.reportRound(ctx)
		pause := min(lookInterval*time.Duration(all/manyPending), time.Second)
		next = time.Now().Add(pause)
		if left > 0 {
			again = time.After(max(pause, lookInterval))
		}
	}
}

// reportRound looks at what is pending, and at what is held up, and reports what is news. It returns how many objects
// are pending then, and how many it looked at.
func (t *Tracker) reportRound(ctx context.Context) (left, all int) {
	t.mu.Lock()
	asked := maps.Clone(t.pending)
	for ref, h := range t.held {
		asked[ref] = h.Object
	}
	told := maps.Clone(t.held)
	t.mu.Unlock()
	decided := t.decideObjects(asked)
	if len(asked) == 0 {
		return 0, 0
	}
	var list []ledger.Live
	for ref, rows := range decided {
		if slices.Equal(rows, told[ref].rows) {
			continue
		}
		// All rows of an object are reported at once: a later report of it counts instead.
		if len(list)+len(rows) > maxReported && !t.reportRows(ctx, list) {
			return len(asked), len(asked)
		} else if len(list)+len(rows) > maxReported {
			list = nil
		}
		list = append(list, rows...)
	}
	for ref, h := range told {
		if _, is := decided[ref]; !is && h.isWaiting() {
			list = append(list, ledger.Live{Key: h.Key, Cluster: t.Cluster, Generation: h.Generation,
				Waits: "proxies have not answered"})
		}
	}
	if !t.reportRows(ctx, list) {
		return len(asked), len(asked)
	}
	return t.recordDecided(asked, decided), len(asked)
}

// reportRows tells the ledger. false: it does not answer.
func (t *Tracker) reportRows(ctx context.Context, list []ledger.Live) bool {
	if len(list) == 0 {
		return true
	}
	err := t.Ledger.ReportAnswers(ctx, list)
	if err != nil && ctx.Err() == nil {
		t.Log.Warn("what is live can't be reported to the ledger; retrying", "error", err)
	}
	return err == nil
}

// recordDecided takes what was decided, and reported.
func (t *Tracker) recordDecided(
	asked map[model.ObjectRef]ledger.Object, decided map[model.ObjectRef][]ledger.Live,
) (left int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ref, rows := range decided {
		o := asked[ref]
		if p, pending := t.pending[ref]; pending && p.Generation != o.Generation {
			continue // a newer one came meanwhile
		}
		delete(t.pending, ref)
		delete(t.held, ref)
		h := heldObject{o, rows}
		if h.isWaiting() || slices.ContainsFunc(rows, func(l ledger.Live) bool { return l.Refused != "" }) {
			t.held[ref] = h
		}
	}
	for ref, h := range t.held {
		if _, is := decided[ref]; !is && asked[ref].Generation == h.Generation {
			delete(t.held, ref)
			t.pending[ref] = h.Object // proxies are about to answer, which need not make a turn
		}
	}
	if len(decided) > manyPending {
		t.pending = maps.Collect(maps.All(t.pending)) // a map that was large stays so, and each round copies it
	}
	return len(t.pending)
}

// decideObjects decides about objects in one View: the rows to report of objects that are live, refused or waiting for
// proxies.
func (t *Tracker) decideObjects(asked map[model.ObjectRef]ledger.Object) map[model.ObjectRef][]ledger.Live {
	for {
		decided := map[model.ObjectRef][]ledger.Live{}
		var news []model.Finding
		var from flow.Rev
		t.World.Graph.View(func(v flow.View) {
			if news, from = t.newErrors(v); len(news) == 0 && len(asked) > 0 {
				t.decideInView(v, asked, decided)
			}
		})
		if len(news) == 0 {
			return decided
		}
		t.attributeErrors(t.World.Graph, news, from)
	}
}

func (t *Tracker) decideInView(v flow.View, asked map[model.ObjectRef]ledger.Object,
	decided map[model.ObjectRef][]ledger.Live) {
	l := &snapshot{Tracker: t, View: v, objects: asked}
	l.collectGateways()
	l.forgetFixed()
	for ref, o := range asked {
		rows, done := l.rowsOf(ref, o)
		if !done || (heldObject{o, rows}).isWaiting() && time.Since(t.began) < connectGrace {
			continue
		}
		for i := range rows {
			rows[i].Key, rows[i].Cluster, rows[i].Generation = o.Key, t.Cluster, o.Generation
		}
		decided[ref] = rows
	}
}
