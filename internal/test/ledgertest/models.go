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
		m := model{rig: r, random: rand.New(rand.NewPCG(seed, 0)), now: map[ledger.Key]version{}}
		const steps = 150
		ctx, cancel := context.WithTimeout(r.ctx, patience)
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
			m.step()
		}
		until <- int64(len(m.past)) + 1
		r.must(put(key("last"), fmt.Sprint(seed)))
		watcher.Wait()
		if len(watched) != len(m.past)+1 {
			r.t.Fatalf("the watch has %d changes, want %d", len(watched), len(m.past)+1)
		}
		for i, c := range watched[:len(m.past)] {
			r.same(c, m.past[i].change)
		}
		m.check()
	},
}

// version is what an object is in the model.
type version struct {
	generation, revision int64
	text                 string // "": deleted
}

// model is the history as it should be.
type model struct {
	rig
	random *rand.Rand
	now    map[ledger.Key]version
	known  map[ledger.Key]map[string]int64 // revisions by text
	past   []state                         // after each change
}

type state struct {
	change  ledger.Change
	objects map[ledger.Key]version
}

func (m *model) step() {
	d := ledger.Draft{}
	var err error
	n := int64(len(m.past))
	switch kind := m.random.IntN(10); {
	case kind < 6 || n == 0:
		d = draft(m.edits()...)
	case kind < 8:
		d, err = ledger.UndoOf(m.ctx, m, 1+m.random.Int64N(n))
	default:
		d, err = ledger.RollbackOf(m.ctx, m, slices.Collect(maps.Keys(m.now)), 1+m.random.Int64N(n))
	}
	if ledger.CodeOf(err) == ledger.Conflict {
		return // later changes stand in the way
	}
	m.ok(err)
	want, wantErr := m.predict(d)
	c, err := m.Commit(m.ctx, d)
	if (err != nil) != wantErr {
		m.t.Fatalf("change %d: Commit of %+v = %v, refused by the model: %v", n+1, d, err, wantErr)
	}
	if err != nil || c.Number == 0 {
		if err == nil && !maps.Equal(want, m.now) {
			m.t.Fatalf("Commit of %+v changed nothing, want %v", d, want)
		}
		return
	}
	if c.Number != n+1 {
		m.t.Fatalf("the change is %d, want %d", c.Number, n+1)
	}
	m.now = want
	m.past = append(m.past, state{c, maps.Clone(want)})
}

// edits are random edits of a few objects.
func (m *model) edits() (list []ledger.Edit) {
	for _, i := range m.random.Perm(6)[:1+m.random.IntN(3)] {
		k := key(fmt.Sprint("web-", i))
		e := put(k, fmt.Sprint("v", m.random.IntN(4)))
		if m.random.IntN(4) == 0 {
			e = remove(k)
		}
		if m.random.IntN(3) == 0 {
			e = expecting(e, m.random.Int64N(5))
		}
		list = append(list, e)
	}
	return list
}

// predict is what the objects are after a draft, by the rules of the seed.
func (m *model) predict(d ledger.Draft) (after map[ledger.Key]version, refused bool) {
	after = maps.Clone(m.now)
	learned := map[ledger.Key]map[string]int64{}
	for _, e := range d.Edits {
		is := after[e.Key]
		want := string(e.Content)
		for text, revision := range m.known[e.Key] {
			if e.Revision == revision && e.Revision != 0 {
				want = text
			}
		}
		there := is.text != ""
		if e.Expect != nil && (*e.Expect == 0) == there || e.Expect != nil && there && *e.Expect != is.generation ||
			e.Delete && !there {
			return m.now, true
		}
		if want == is.text {
			continue
		}
		next := version{generation: is.generation + 1, text: want}
		if want != "" {
			if next.revision = m.known[e.Key][want]; next.revision == 0 {
				next.revision = next.generation
				learned[e.Key] = map[string]int64{want: next.revision}
			}
		}
		after[e.Key] = next
	}
	for k, revisions := range learned {
		if m.known == nil {
			m.known = map[ledger.Key]map[string]int64{}
		}
		if m.known[k] == nil {
			m.known[k] = map[string]int64{}
		}
		maps.Copy(m.known[k], revisions)
	}
	return after, false
}

// check compares reads as of some changes.
func (m *model) check() {
	m.t.Helper()
	for range 20 {
		at := 1 + m.random.Int64N(int64(len(m.past)))
		list, err := m.Objects(m.ctx, ledger.ObjectsQuery{At: at, Contents: true, Deleted: true})
		m.ok(err)
		got := map[ledger.Key]version{}
		for _, o := range list.Objects {
			got[o.Key] = version{o.Generation, o.Revision, string(o.Content)}
		}
		if want := m.past[at-1].objects; !maps.Equal(got, want) {
			m.t.Fatalf("at change %d the objects are\n%v\nwant\n%v", at, got, want)
		}
	}
	v, err := m.Verify(m.ctx)
	m.ok(err)
	if len(v.Wrong) != 0 {
		m.t.Fatalf("the verification is %+v", v)
	}
}
