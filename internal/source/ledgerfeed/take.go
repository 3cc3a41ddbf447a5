package ledgerfeed

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/synthetic"
	"cardea.dev/cardea/internal/source/validcache"
)

// pageSize is how many objects a snapshot reads at a time.
const pageSize = 1000

// arrived is an object of the ledger, and what this program makes of it.
type arrived struct {
	ledger.Object // without its content, once it is read
	ref           model.ObjectRef
	read          *schema.Object // nil: deleted, or not taken
	problem       *Problem
	closes        []schema.Closed   // for as long as it can't be read
	digest        validcache.Digest // of its content; zero: nothing is remembered of it
}

// snapshot takes everything that the ledger has, in one batch. Objects that were taken before and are not there any
// more go.
func (f *Feed) snapshot(ctx context.Context, head ledger.Head) error {
	first := !f.loaded
	if first {
		if err := f.Memory.Load(); err != nil {
			f.Log.Warn("the memory of valid objects is of no use", "error", err)
		}
	}
	var list []*arrived
	pools := newPools()
	there := map[model.ObjectRef]bool{}
	q := ledger.ObjectsQuery{Target: f.Target, At: head.Change, Limit: pageSize, Contents: true}
	for more := head.Change > 0; more; {
		page, err := f.Ledger.Objects(ctx, q)
		if err != nil {
			return err
		}
		from := len(list)
		for _, o := range page.Objects {
			a := &arrived{Object: o, ref: refOf(o.Key)}
			there[a.ref] = true
			if f.known[a.ref].generation != o.Generation || head.Epoch != f.head.Epoch {
				list = append(list, a)
			}
			q.After = &o.Key
		}
		f.read(list[from:], pools)
		more = page.More
	}
	for ref, k := range f.known {
		if !there[ref] {
			list = append(list, &arrived{ref: ref, Object: ledger.Object{Generation: k.generation, Change: head.Change}})
		}
	}
	f.apply("ledger", list)
	f.head = head
	if first {
		f.remember(list)
	}
	return nil
}

// take takes changes of a burst: what they edited is read at once, and each is a batch of its own.
func (f *Feed) take(ctx context.Context, changes []ledger.Change) error {
	var keys []ledger.Key
	for _, change := range changes {
		for _, e := range change.Edited {
			if e.Target == f.Target {
				keys = append(keys, e.Key)
			}
		}
	}
	made := map[int64][]*arrived{} // by change
	if len(keys) > 0 {
		page, err := f.Ledger.Objects(ctx, ledger.ObjectsQuery{Keys: keys, At: changes[len(changes)-1].Number,
			Contents: true, Deleted: true, Limit: len(keys)})
		if err != nil {
			return err
		}
		for _, o := range page.Objects {
			made[o.Change] = append(made[o.Change], &arrived{Object: o, ref: refOf(o.Key)})
		}
	}
	for _, change := range changes {
		if list := made[change.Number]; len(list) > 0 {
			f.read(list, newPools())
			f.apply(fmt.Sprintf("change %d", change.Number), list)
		}
		f.head.Change, f.head.Digest = change.Number, change.Digest
	}
	return nil
}

// openSealed takes Secrets that could not be opened and can be by now.
func (f *Feed) openSealed(ctx context.Context) error {
	if len(f.sealed) == 0 {
		return nil
	}
	q := ledger.ObjectsQuery{Keys: slices.Collect(maps.Values(f.sealed)), At: f.head.Change, Contents: true,
		Limit: len(f.sealed)}
	page, err := f.Ledger.Objects(ctx, q)
	if err != nil {
		return err
	}
	var list []*arrived
	for _, o := range page.Objects {
		if o.Unopened == "" {
			list = append(list, &arrived{Object: o, ref: refOf(o.Key)})
		}
	}
	if len(list) > 0 {
		f.read(list, newPools())
		f.apply("Secrets that can be opened", list)
	}
	return nil
}

func refOf(k ledger.Key) model.ObjectRef {
	return model.Ref(model.KindOf(k.Group, k.Kind), k.Namespace, k.Name)
}

// newPools are pools for one goroutine each. Values that they share live as long as they do.
func newPools() []schema.Pool { return make([]schema.Pool, runtime.GOMAXPROCS(0)) }

// read checks objects, on all cores if they are many. Their contents are not needed any more then.
func (f *Feed) read(list []*arrived, pools []schema.Pool) {
	var next atomic.Int64
	work := func(pool *schema.Pool) {
		for i := next.Add(1); i <= int64(len(list)); i = next.Add(1) {
			f.check(list[i-1], pool)
			list[i-1].Content = nil
		}
	}
	if len(list) == 1 {
		work(&pools[0])
		return
	}
	var wait sync.WaitGroup
	for i := range min(len(pools), len(list)) {
		wait.Go(func() { work(&pools[i]) })
	}
	wait.Wait()
}

// check makes of an object what the graph holds.
func (f *Feed) check(a *arrived, pool *schema.Pool) {
	if a.IsDeleted() {
		return
	}
	problem := func(field, message string) {
		a.problem = &Problem{Object: a.ref.String(), Ref: a.ref, Change: a.Change, Field: field, Message: message}
	}
	if a.Forgotten {
		problem("", "its content is not kept any more")
		a.closes = f.Schema.Closes(a.bare())
		return
	}
	if a.Unopened != "" {
		problem("", a.Unopened)
		a.closes = f.Schema.Closes(a.bare())
		return
	}
	a.digest = digestOf(a.Key, a.Content)
	if o, known := f.Memory.Object(pool, a.digest); known && o.Ref == a.ref && f.Sources.Of(o.Ref.Kind()) != nil {
		a.read = &o
		return
	}
	doc, err := a.Content.Object()
	if err != nil {
		problem("", "its content is not JSON: "+err.Error())
		a.closes = f.Schema.Closes(a.bare())
		return
	}
	options := schema.Options{Old: f.known[a.ref].old, KnownValid: f.Memory.Valid(a.digest)}
	read, found := f.Schema.Check(doc, options)
	if read != nil && f.Sources.Of(read.Ref.Kind()) != nil {
		a.read = new(f.Schema.Share(pool, read))
		return
	}
	if len(found) == 0 {
		problem("", "its kind is not read")
		return
	}
	problem(found[0].Field, found[0].Message)
	if doc, err = a.Content.Object(); err == nil { // who checked it took out what is not known
		a.closes = f.Schema.Closes(doc)
	}
}

// bare is an object with nothing known but its key.
func (a *arrived) bare() map[string]any {
	return map[string]any{"apiVersion": a.Group + "/", "kind": a.Kind, "metadata": map[string]any{
		"namespace": a.Namespace, "name": a.Name,
	}}
}

// apply puts objects into the graph, in one batch.
func (f *Feed) apply(name string, list []*arrived) {
	first := !f.loaded
	spaces := map[string]struct{}{}
	f.mu.Lock()
	f.Graph.Apply(name, func(b *flow.Batch) {
		for _, a := range list {
			f.put(b, a, spaces)
		}
		for space := range spaces {
			f.imply(b, model.Ref(model.KindNamespace, "", space))
		}
		if first {
			f.imply(b, synthetic.Class)
			f.Sources.Synced(b)
		}
	})
	f.loaded, f.ready = true, true
	f.mu.Unlock()
	if f.Fed != nil {
		fed := make([]ledger.Object, 0, len(list))
		for _, a := range list {
			if a.Kind != "" {
				fed = append(fed, a.Object)
			}
		}
		f.Fed(fed)
	}
}

// put puts one object into the graph, and notes which namespaces it begins or ends. mu is held.
func (f *Feed) put(b *flow.Batch, a *arrived, spaces map[string]struct{}) {
	before := f.known[a.ref]
	now := known{generation: a.Generation, change: a.Change, published: before.published, old: before.old}
	delete(f.problems, a.ref)
	delete(f.sealed, a.ref)
	if a.Unopened != "" {
		f.sealed[a.ref] = a.Key
	}
	f.Sources.Broken.Delete(b, a.ref)
	for _, key := range before.closed {
		f.Sources.Closed.Delete(b, key)
	}
	if a.read != nil {
		now.published, now.old = true, a.read.Old
		f.set(b, a)
	}
	if a.problem != nil {
		a.problem.Stale = before.published
		f.close(b, a, &now)
		f.problems[a.ref] = *a.problem
		if !now.published {
			f.Sources.Broken.Set(b, a.ref, input.Broken{Where: fmt.Sprintf("change %d", a.Change), Why: a.problem.Message})
		}
	}
	f.known[a.ref] = now
	if a.read == nil && a.problem == nil {
		now.published = false
		delete(f.known, a.ref)
		f.remove(b, a, before)
	}
	count := map[bool]int{true: 1}
	if f.uses.Use(a.ref.Namespace(), count[now.published]-count[before.published]) {
		spaces[a.ref.Namespace()] = struct{}{}
	}
}

// close closes what an object protects that can't be read, unless the version before serves.
func (f *Feed) close(b *flow.Batch, a *arrived, now *known) {
	for _, c := range a.closes {
		if now.published && (!c.Always || c.Guessed) {
			continue
		}
		closed := input.Closed{Of: c.Of, Kind: c.Kind, Targets: c.Targets, Where: fmt.Sprintf("change %d", a.Change),
			Why: strings.TrimPrefix(a.problem.Field+": "+a.problem.Message, ": ")}
		f.Sources.Closed.Set(b, closed.Key(), closed)
		now.closed = append(now.closed, closed.Key())
		a.problem.Closes, a.problem.Stale = append(a.problem.Closes, c.Says()), false
	}
}

func (f *Feed) set(b *flow.Batch, a *arrived) {
	edit := &model.Edit{By: a.Author, At: a.At.UTC(), Change: a.Change, Message: a.Message}
	labels := a.read.Labels
	if a.ref.Kind() == model.KindNamespace {
		labels = synthetic.Named(labels, a.ref.Name())
	}
	f.grants.back(b, f.Sources, a)
	f.Sources.Of(a.ref.Kind()).Set(b, a.ref,
		model.Meta{UID: a.ID, Generation: a.Generation, Created: a.Created.UTC(), Labels: labels, Edit: edit}, a.read.Spec)
}

// remove takes an object out of the graph. An object that is there by itself comes back.
func (f *Feed) remove(b *flow.Batch, a *arrived, before known) {
	if before.published {
		f.grants.gone(b, f.Sources, a)
		f.Sources.Of(a.ref.Kind()).Delete(b, a.ref)
	}
	if f.Sources.Of(a.ref.Kind()) != nil {
		f.imply(b, a.ref)
	}
}

// imply puts an object into the graph that is there by itself, or takes a Namespace out that is not any more, unless
// the ledger has it.
func (f *Feed) imply(b *flow.Batch, ref model.ObjectRef) {
	if f.known[ref].published {
		return
	}
	source := f.Sources.Of(ref.Kind())
	if o, is := f.uses.Of(ref); is {
		source.Set(b, ref, model.Meta{Generation: 1, Labels: o.Labels, Edit: &model.Edit{}}, o.Spec)
	} else if ref.Kind() == model.KindNamespace {
		source.Delete(b, ref)
	}
}
