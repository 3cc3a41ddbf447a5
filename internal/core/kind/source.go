package kind

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// Object is an object as it enters: defaulted and valid by its schema, without status.
type Object[S any] struct {
	Meta model.Meta
	Spec *S // never nil; it is shared and never changes
}

// Source is the source of one kind.
type Source[S any] = flow.Source[model.ObjectRef, Object[S]]

// Collection is what a Source shows.
type Collection[S any] = flow.Collection[model.ObjectRef, Object[S]]

// Value is an object for those who have the kind as a value.
type Value struct {
	Ref  model.ObjectRef
	Meta model.Meta
	Spec any // points to the type of the kind's source
}

// Untyped is the source of one kind for those who have the kind as a value.
type Untyped interface {
	// Set gives ref a value; spec points to the source's type, or Set panics.
	Set(b *flow.Batch, ref model.ObjectRef, meta model.Meta, spec any)
	Delete(b *flow.Batch, ref model.ObjectRef)
	// Update is Set of what is made of the present object when a turn takes the batch; spec is nil if there is none.
	Update(b *flow.Batch, ref model.ObjectRef, to func(meta model.Meta, spec any) (model.Meta, any))
	// Get is an object, if it is there.
	Get(v flow.View, ref model.ObjectRef) (o Value, found bool)
	// ChangedAt is the Rev in which the object got to be as it is.
	ChangedAt(v flow.View, ref model.ObjectRef) flow.Rev
	// ListRefs lists the objects that there are.
	Refs(v flow.View) []model.ObjectRef
	// Len is how many there are.
	Len(v flow.View) int
	// StagedChanges are the objects that the edits of a Try change; v is its View.
	Staged(v flow.View) []Staged
	// Follow begins to tell which objects change. It must not be called in a View.
	Follow() Follower
	// MarkSynced says that the first load is complete.
	Synced(b *flow.Batch)
	// TypedSource is the *Source[S] itself.
	Typed() any
}

// Follower tells one reader which objects changed, as [flow.Follower] does.
type Follower interface {
	// ChangedRefs are those that came or changed from the View of the last call up to v. The first call gives all.
	Changed(v flow.View) []model.ObjectRef
	Stop()
}

// Staged is an object that a Try changes.
type Staged struct {
	Ref            model.ObjectRef
	Added, Removed bool // else it is changed
	Was, Is        any  // the specs; zero where there is none
}

type untyped[S any] struct{ source *Source[S] }

func newSource[S any](g *flow.Graph, name string) Untyped {
	return untyped[S]{flow.NewSource[model.ObjectRef, Object[S]](g, name)}
}

func (u untyped[S]) Typed() any { return u.source }

func (u untyped[S]) Set(b *flow.Batch, ref model.ObjectRef, meta model.Meta, spec any) {
	u.source.Set(b, ref, Object[S]{Meta: meta, Spec: spec.(*S)})
}

func (u untyped[S]) Delete(b *flow.Batch, ref model.ObjectRef) { u.source.Delete(b, ref) }

func (u untyped[S]) Update(b *flow.Batch, ref model.ObjectRef, to func(model.Meta, any) (model.Meta, any)) {
	u.source.Update(b, ref, func(was Object[S], found bool) Object[S] {
		var present any
		if found {
			present = was.Spec
		}
		meta, spec := to(was.Meta, present)
		return Object[S]{Meta: meta, Spec: spec.(*S)}
	})
}

func (u untyped[S]) Get(v flow.View, ref model.ObjectRef) (Value, bool) {
	o, found := flow.Get(v, u.source.Collection(), ref)
	if !found {
		return Value{}, false
	}
	return Value{Ref: ref, Meta: o.Meta, Spec: o.Spec}, true
}

func (u untyped[S]) ChangedAt(v flow.View, ref model.ObjectRef) flow.Rev {
	return flow.ChangedAt(v, u.source.Collection(), ref)
}

func (u untyped[S]) Refs(v flow.View) []model.ObjectRef {
	list := make([]model.ObjectRef, 0, u.Len(v))
	for ref := range flow.All(v, u.source.Collection()) {
		list = append(list, ref)
	}
	return list
}

func (u untyped[S]) Len(v flow.View) int { return flow.Len(v, u.source.Collection()) }

func (u untyped[S]) Staged(v flow.View) (list []Staged) {
	for change := range flow.Staged(v, u.source.Collection()) {
		was, existed := flow.Before(v, u.source.Collection(), change.Key)
		list = append(list, Staged{
			Ref: change.Key, Added: !existed, Removed: change.Deleted, Was: was.Spec, Is: change.Value.Spec,
		})
	}
	return list
}

func (u untyped[S]) Synced(b *flow.Batch) { u.source.Synced(b) }

func (u untyped[S]) Follow() Follower { return follower[S]{flow.Follow(u.source.Collection())} }

type follower[S any] struct {
	*flow.Follower[model.ObjectRef, Object[S]]
}

func (f follower[S]) Changed(v flow.View) (list []model.ObjectRef) {
	for change := range f.Changes(v) {
		if !change.Deleted {
			list = append(list, change.Key)
		}
	}
	return list
}
