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
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/synthetic"
	"cardea.dev/cardea/internal/source/validcache"
)

// pageSize is how many objects a snapshot reads at a time.
const pageSize = 1000

// checkedObject is an object of the ledger, and what this program makes of it.
type checkedObject struct {
	ledger.Object // without its content, once it is read
	ref           model.ObjectRef
	valid         *schema.Object // nil: deleted, or not taken
	problem       *Problem
	closes        []schema.ClosedTargets // for as long as it can't be read
	digest        validcache.Digest      // of its content; zero: nothing is remembered of it
}

// takeSnapshot takes everything that the ledger has, in one batch. Objects that were taken before and are not there any
// more go.
func (f *Feed) takeSnapshot(ctx context.Context, head ledger.Head) error {
	first := !f.loaded
	if first {
		if err := f.Cache.Load(); err != nil {
			f.Log.Warn("the cache of valid objects can't be used", "error", err)
		}
	}
	var list []*checkedObject
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
			a := &checkedObject{Object: o, ref: refOf(o.Key)}
			there[a.ref] = true
			if f.known[a.ref].generation != o.Generation || head.Epoch != f.head.Epoch {
				list = append(list, a)
			}
			q.After = &o.Key
		}
		f.checkObjects(list[from:], pools)
		more = page.More
	}
	for ref, k := range f.known {
		if !there[ref] {
			list = append(list, &checkedObject{ref: ref, Object: ledger.Object{Generation: k.generation, Change: head.Change}})
		}
	}
	f.applyObjects("ledger", list)
	f.head = head
	if first {
		f.saveCache(list)
	}
	return nil
}

// takeChanges takes changes of a burst: what they edited is read at once, and each is a batch of its own.
func (f *Feed) takeChanges(ctx context.Context, changes []ledger.Change) error {
	var keys []ledger.Key
	for _, change := range changes {
		for _, e := range change.Edited {
			if e.Target == f.Target {
				keys = append(keys, e.Key)
			}
		}
	}
	made := map[int64][]*checkedObject{} // by change
	if len(keys) > 0 {
		page, err := f.Ledger.Objects(ctx, ledger.ObjectsQuery{Keys: keys, At: changes[len(changes)-1].Number,
			Contents: true, Deleted: true, Limit: len(keys)})
		if err != nil {
			return err
		}
		for _, o := range page.Objects {
			made[o.Change] = append(made[o.Change], &checkedObject{Object: o, ref: refOf(o.Key)})
		}
	}
	for _, change := range changes {
		if list := made[change.Number]; len(list) > 0 {
			f.checkObjects(list, newPools())
			f.applyObjects(fmt.Sprintf("change %d", change.Number), list)
		}
		f.head.Change, f.head.Digest = change.Number, change.Digest
	}
	return nil
}

// openSealed takes Secrets that could not be opened and can be by now.
func (f *Feed) openSealed(ctx context.Context) error {
	if len(f.sealedSecrets) == 0 {
		return nil
	}
	q := ledger.ObjectsQuery{Keys: slices.Collect(maps.Values(f.sealedSecrets)), At: f.head.Change, Contents: true,
		Limit: len(f.sealedSecrets)}
	page, err := f.Ledger.Objects(ctx, q)
	if err != nil {
		return err
	}
	var list []*checkedObject
	for _, o := range page.Objects {
		if o.Unopened == "" {
			list = append(list, &checkedObject{Object: o, ref: refOf(o.Key)})
		}
	}
	if len(list) > 0 {
		f.checkObjects(list, newPools())
		f.applyObjects("Secrets that can be opened", list)
	}
	return nil
}

func refOf(k ledger.Key) model.ObjectRef {
	return model.Ref(model.KindOf(k.Group, k.Kind), k.Namespace, k.Name)
}

// newPools are pools for one goroutine each. Values that they share live as long as they do.
func newPools() []schema.Pool { return make([]schema.Pool, runtime.GOMAXPROCS(0)) }

// checkObjects checks objects, on all cores if they are many. Their contents are not needed any more then.
func (f *Feed) checkObjects(list []*checkedObject, pools []schema.Pool) {
	var next atomic.Int64
	work := func(pool *schema.Pool) {
		for i := next.Add(1); i <= int64(len(list)); i = next.Add(1) {
			f.checkObject(list[i-1], pool)
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

// checkObject makes of an object what the graph holds.
func (f *Feed) checkObject(a *checkedObject, pool *schema.Pool) {
	if a.IsDeleted() {
		return
	}
	problem := func(field, message string) {
		a.problem = &Problem{Object: a.ref.String(), Ref: a.ref, Change: a.Change, Field: field, Message: message}
	}
	if a.Forgotten {
		problem("", "its content is not kept any more")
		a.closes = f.Schema.ClosedTargets(a.bareObject())
		return
	}
	if a.Unopened != "" {
		problem("", a.Unopened)
		a.closes = f.Schema.ClosedTargets(a.bareObject())
		return
	}
	a.digest = digestOf(a.Key, a.Content)
	if o, known := f.Cache.LoadObject(pool, a.digest); known && o.Ref == a.ref &&
		f.Sources.KindSource(o.Ref.Kind()) != nil {
		a.valid = &o
		return
	}
	doc, err := a.Content.DecodeObject()
	if err != nil {
		problem("", "its content is not JSON: "+err.Error())
		a.closes = f.Schema.ClosedTargets(a.bareObject())
		return
	}
	options := schema.Options{Old: f.known[a.ref].old, KnownValid: f.Cache.IsValid(a.digest)}
	read, found := f.Schema.Check(doc, options)
	if read != nil && f.Sources.KindSource(read.Ref.Kind()) != nil {
		a.valid = new(f.Schema.ShareContent(pool, read))
		return
	}
	if len(found) == 0 {
		problem("", "its kind is not read")
		return
	}
	problem(found[0].Field, found[0].Message)
	if doc, err = a.Content.DecodeObject(); err == nil { // who checked it took out what is not known
		a.closes = f.Schema.ClosedTargets(doc)
	}
}

// bareObject is an object with nothing known but its key.
func (a *checkedObject) bareObject() map[string]any {
	return map[string]any{"apiVersion": a.Group + "/", "kind": a.Kind, "metadata": map[string]any{
		"namespace": a.Namespace, "name": a.Name,
	}}
}

// applyObjects puts objects into the graph, in one batch.
func (f *Feed) applyObjects(name string, list []*checkedObject) {
	first := !f.loaded
	spaces := map[string]struct{}{}
	f.mu.Lock()
	f.Graph.Apply(name, func(b *flow.Batch) {
		for _, a := range list {
			f.putObject(b, a, spaces)
		}
		for space := range spaces {
			f.updateSynthetic(b, model.Ref(model.KindNamespace, "", space))
		}
		if first {
			f.updateSynthetic(b, synthetic.Class)
			f.Sources.MarkSynced(b)
		}
	})
	f.loaded, f.ready = true, true
	f.mu.Unlock()
	if f.OnApplied != nil {
		fed := make([]ledger.Object, 0, len(list))
		for _, a := range list {
			if a.Kind != "" {
				fed = append(fed, a.Object)
			}
		}
		f.OnApplied(fed)
	}
}

// putObject puts one object into the graph, and notes which namespaces it begins or ends. mu is held.
func (f *Feed) putObject(b *flow.Batch, a *checkedObject, spaces map[string]struct{}) {
	before := f.known[a.ref]
	now := knownObject{generation: a.Generation, change: a.Change, published: before.published, old: before.old}
	delete(f.problems, a.ref)
	delete(f.sealedSecrets, a.ref)
	if a.Unopened != "" {
		f.sealedSecrets[a.ref] = a.Key
	}
	f.Sources.Broken.Delete(b, a.ref)
	for _, key := range before.closed {
		f.Sources.Closed.Delete(b, key)
	}
	if a.valid != nil {
		now.published, now.old = true, a.valid.Old
		f.setObject(b, a)
	}
	if a.problem != nil {
		a.problem.Stale = before.published
		f.closeTargets(b, a, &now)
		f.problems[a.ref] = *a.problem
		if !now.published {
			f.Sources.Broken.Set(b, a.ref, input.BrokenObject{Where: fmt.Sprintf("change %d", a.Change), Why: a.problem.Message})
		}
	}
	f.known[a.ref] = now
	if a.valid == nil && a.problem == nil {
		now.published = false
		delete(f.known, a.ref)
		f.removeObject(b, a, before)
	}
	count := map[bool]int{true: 1}
	if f.namespaces.AddObjects(a.ref.Namespace(), count[now.published]-count[before.published]) {
		spaces[a.ref.Namespace()] = struct{}{}
	}
}

// closeTargets closes what an object protects that can't be read, unless the version before serves.
func (f *Feed) closeTargets(b *flow.Batch, a *checkedObject, now *knownObject) {
	for _, c := range a.closes {
		if now.published && (!c.ClosesDespiteLastGood || c.TargetsUnknown) {
			continue
		}
		closed := input.ClosedTargets{Object: c.Object, Kind: c.Kind, Targets: c.Targets, Where: fmt.Sprintf("change %d",
			a.Change),
			Why: strings.TrimPrefix(a.problem.Field+": "+a.problem.Message, ": ")}
		f.Sources.Closed.Set(b, closed.Key(), closed)
		now.closed = append(now.closed, closed.Key())
		a.problem.Closes, a.problem.Stale = append(a.problem.Closes, c.Describe(anyTarget)), false
	}
}

// anyTarget takes every target as there: the objects of a snapshot come one after the other.
func anyTarget(kind.Target) bool { return true }

func (f *Feed) setObject(b *flow.Batch, a *checkedObject) {
	edit := &model.LastEdit{By: a.Author, At: a.At.UTC(), Change: a.Change, Message: a.Message}
	labels := a.valid.Labels
	if a.ref.Kind() == model.KindNamespace {
		labels = synthetic.NamespaceLabels(labels, a.ref.Name())
	}
	f.grants.noteReturn(b, f.Sources, a)
	f.Sources.KindSource(a.ref.Kind()).Set(b, a.ref,
		model.Meta{UID: a.ID, Generation: a.Generation, Created: a.Created.UTC(), Labels: labels, LastEdit: edit},
		a.valid.Spec)
}

// removeObject takes an object out of the graph. An object that is there by itself comes back.
func (f *Feed) removeObject(b *flow.Batch, a *checkedObject, before knownObject) {
	if before.published {
		f.grants.noteGone(b, f.Sources, a)
		f.Sources.KindSource(a.ref.Kind()).Delete(b, a.ref)
	}
	if f.Sources.KindSource(a.ref.Kind()) != nil {
		f.updateSynthetic(b, a.ref)
	}
}

// updateSynthetic puts an object into the graph that is there by itself, or takes a Namespace out that is not any more,
// unless the ledger has it.
func (f *Feed) updateSynthetic(b *flow.Batch, ref model.ObjectRef) {
	if f.known[ref].published {
		return
	}
	source := f.Sources.KindSource(ref.Kind())
	if o, is := f.namespaces.ObjectOf(ref); is {
		source.Set(b, ref, model.Meta{Generation: 1, Labels: o.Labels, LastEdit: &model.LastEdit{}}, o.Spec)
	} else if ref.Kind() == model.KindNamespace {
		source.Delete(b, ref)
	}
}
