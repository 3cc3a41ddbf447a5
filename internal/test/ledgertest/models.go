package ledgertest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"cardea.dev/cardea/internal/core/ledger"
)

// models compare a ledger with a small model of it.
var models = map[string]func(rig){
	"random edits, undos and rollbacks equal a model": func(r rig) {
		seed := rand.Uint64()
		r.t.Logf("the seed is %d", seed)
		m := ledgerModel{rig: r, random: rand.New(rand.NewPCG(seed, 0)), objects: map[ledger.Key]objectVersion{}}
		const steps = 150
		ctx, cancel := context.WithTimeout(r.ctx, waitTimeout)
		defer cancel()
		var watcher sync.WaitGroup
		var watched []ledger.Change
		until := make(chan int64, 1) // the last number that the watcher waits for
		watcher.Go(func() {
			last := int64(-1)
			for c, err := range r.Watch(ctx, 0) {
				if err != nil || c.Number != int64(len(watched))+1 {
					r.t.Errorf("the watch has %d, %v after %d", c.Number, err, len(watched))
					return
				}
				watched = append(watched, c)
				select {
				case last = <-until:
				default:
				}
				if c.Number == last {
					return
				}
			}
		})
		for range steps {
			m.commitRandom()
		}
		until <- int64(len(m.history)) + 1
		r.mustCommit(putEdit(routeKey("last"), fmt.Sprint(seed)))
		watcher.Wait()
		if len(watched) != len(m.history)+1 {
			r.t.Fatalf("the watch has %d changes, want %d", len(watched), len(m.history)+1)
		}
		for i, c := range watched[:len(m.history)] {
			r.wantSameChange(c, m.history[i].change)
		}
		m.checkReads()
	},
}

// objectVersion is what an object is in the model.
type objectVersion struct {
	generation, revision int64
	text                 string // "": deleted
}

// ledgerModel is the history as it should be.
type ledgerModel struct {
	rig
	random    *rand.Rand
	objects   map[ledger.Key]objectVersion
	revisions map[ledger.Key]map[string]int64 // revisions by text
	history   []historyEntry                  // after each change
}

type historyEntry struct {
	change  ledger.Change
	objects map[ledger.Key]objectVersion
}

func (m *ledgerModel) commitRandom() {
	d := ledger.Draft{}
	var err error
	n := int64(len(m.history))
	switch kind := m.random.IntN(10); {
	case kind < 6 || n == 0:
		d = newDraft(m.randomEdits()...)
	case kind < 8:
		d, err = ledger.UndoOf(m.ctx, m, 1+m.random.Int64N(n))
	default:
		d, err = ledger.RollbackOf(m.ctx, m, slices.Collect(maps.Keys(m.objects)), 1+m.random.Int64N(n))
	}
	if ledger.CodeOf(err) == ledger.Conflict {
		return // later changes stand in the way
	}
	m.wantNoError(err)
	want, wantErr := m.predictDraft(d)
	c, err := m.Commit(m.ctx, d)
	if (err != nil) != wantErr {
		m.t.Fatalf("change %d: Commit of %+v = %v, refused by the model: %v", n+1, d, err, wantErr)
	}
	if err != nil || c.Number == 0 {
		if err == nil && !maps.Equal(want, m.objects) {
			m.t.Fatalf("Commit of %+v changed nothing, want %v", d, want)
		}
		return
	}
	if c.Number != n+1 {
		m.t.Fatalf("the change is %d, want %d", c.Number, n+1)
	}
	m.objects = want
	m.history = append(m.history, historyEntry{c, maps.Clone(want)})
}

// randomEdits are random edits of a few objects.
func (m *ledgerModel) randomEdits() (list []ledger.Edit) {
	for _, i := range m.random.Perm(6)[:1+m.random.IntN(3)] {
		k := routeKey(fmt.Sprint("web-", i))
		e := putEdit(k, fmt.Sprint("v", m.random.IntN(4)))
		if m.random.IntN(4) == 0 {
			e = deleteEdit(k)
		}
		if m.random.IntN(3) == 0 {
			e = expectGeneration(e, m.random.Int64N(5))
		}
		list = append(list, e)
	}
	return list
}

// predictDraft is what the objects are after a draft, by the rules of the seed.
func (m *ledgerModel) predictDraft(d ledger.Draft) (after map[ledger.Key]objectVersion, refused bool) {
	after = maps.Clone(m.objects)
	learned := map[ledger.Key]map[string]int64{}
	for _, e := range d.Edits {
		is := after[e.Key]
		want := string(e.Content)
		for text, revision := range m.revisions[e.Key] {
			if e.Revision == revision && e.Revision != 0 {
				want = text
			}
		}
		there := is.text != ""
		if e.Expect != nil && (*e.Expect == 0) == there || e.Expect != nil && there && *e.Expect != is.generation ||
			e.Delete && !there {
			return m.objects, true
		}
		if want == is.text {
			continue
		}
		next := objectVersion{generation: is.generation + 1, text: want}
		if want != "" {
			if next.revision = m.revisions[e.Key][want]; next.revision == 0 {
				next.revision = next.generation
				learned[e.Key] = map[string]int64{want: next.revision}
			}
		}
		after[e.Key] = next
	}
	for k, revisions := range learned {
		if m.revisions == nil {
			m.revisions = map[ledger.Key]map[string]int64{}
		}
		if m.revisions[k] == nil {
			m.revisions[k] = map[string]int64{}
		}
		maps.Copy(m.revisions[k], revisions)
	}
	return after, false
}

// checkReads compares reads as of some changes.
func (m *ledgerModel) checkReads() {
	m.t.Helper()
	for range 20 {
		at := 1 + m.random.Int64N(int64(len(m.history)))
		list, err := m.Objects(m.ctx, ledger.ObjectsQuery{At: at, Contents: true, Deleted: true})
		m.wantNoError(err)
		got := map[ledger.Key]objectVersion{}
		for _, o := range list.Objects {
			got[o.Key] = objectVersion{o.Generation, o.Revision, string(o.Content)}
		}
		if want := m.history[at-1].objects; !maps.Equal(got, want) {
			m.t.Fatalf("at change %d the objects are\n%v\nwant\n%v", at, got, want)
		}
	}
	v, err := m.Verify(m.ctx)
	m.wantNoError(err)
	if len(v.Wrong) != 0 {
		m.t.Fatalf("the verification is %+v", v)
	}
}
