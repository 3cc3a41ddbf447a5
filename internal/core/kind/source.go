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

// UntypedObject is an object for those who have the kind as a value.
type UntypedObject struct {
	Ref  model.ObjectRef
	Meta model.Meta
	Spec any // points to the type of the kind's source
}

// UntypedSource is the source of one kind for those who have the kind as a value.
type UntypedSource interface {
	// Set gives ref a value; spec points to the source's type, or Set panics.
	Set(b *flow.Batch, ref model.ObjectRef, meta model.Meta, spec any)
	Delete(b *flow.Batch, ref model.ObjectRef)
	// Update is Set of what is made of the present object when a turn takes the batch; spec is nil if there is none.
	Update(b *flow.Batch, ref model.ObjectRef, to func(meta model.Meta, spec any) (model.Meta, any))
	// Get is an object, if it is there.
	Get(v flow.View, ref model.ObjectRef) (o UntypedObject, found bool)
	// ChangedAt is the Rev in which the object got to be as it is.
	ChangedAt(v flow.View, ref model.ObjectRef) flow.Rev
	// ListRefs lists the objects that there are.
	ListRefs(v flow.View) []model.ObjectRef
	// Len is how many there are.
	Len(v flow.View) int
	// StagedChanges are the objects that the edits of a Try change; v is its View.
	StagedChanges(v flow.View) []StagedChange
	// Follow begins to tell which objects change. It must not be called in a View.
	Follow() Follower
	// Objects are the objects for transforms of any kind.
	Objects() Objects
	// MarkSynced says that the first load is complete.
	MarkSynced(b *flow.Batch)
	// TypedSource is the *Source[S] itself.
	TypedSource() any
}

// Objects are the objects of one kind, for transforms that have the kind as a value.
type Objects = flow.Projection[model.ObjectRef, UntypedObject]

// Follower tells one reader which objects changed, as [flow.Follower] does.
type Follower interface {
	// ChangedRefs are those that came or changed from the View of the last call up to v. The first call gives all.
	ChangedRefs(v flow.View) []model.ObjectRef
	Stop()
}

// StagedChange is an object that a Try changes.
type StagedChange struct {
	Ref              model.ObjectRef
	Added, Removed   bool // else it is changed
	OldSpec, NewSpec any  // the specs; zero where there is none
}

type untypedSource[S any] struct{ source *Source[S] }

func newSource[S any](g *flow.Graph, name string) UntypedSource {
	return untypedSource[S]{flow.NewSource[model.ObjectRef, Object[S]](g, name)}
}

func (u untypedSource[S]) TypedSource() any { return u.source }

func (u untypedSource[S]) Set(b *flow.Batch, ref model.ObjectRef, meta model.Meta, spec any) {
	u.source.Set(b, ref, Object[S]{Meta: meta, Spec: spec.(*S)})
}

func (u untypedSource[S]) Delete(b *flow.Batch, ref model.ObjectRef) { u.source.Delete(b, ref) }

func (u untypedSource[S]) Update(b *flow.Batch, ref model.ObjectRef, to func(model.Meta, any) (model.Meta, any)) {
	u.source.Update(b, ref, func(was Object[S], found bool) Object[S] {
		var present any
		if found {
			present = was.Spec
		}
		meta, spec := to(was.Meta, present)
		return Object[S]{Meta: meta, Spec: spec.(*S)}
	})
}

func (u untypedSource[S]) Get(v flow.View, ref model.ObjectRef) (UntypedObject, bool) {
	o, found := flow.Get(v, u.source.Collection(), ref)
	if !found {
		return UntypedObject{}, false
	}
	return UntypedObject{Ref: ref, Meta: o.Meta, Spec: o.Spec}, true
}

func (u untypedSource[S]) ChangedAt(v flow.View, ref model.ObjectRef) flow.Rev {
	return flow.ChangedAt(v, u.source.Collection(), ref)
}

func (u untypedSource[S]) ListRefs(v flow.View) []model.ObjectRef {
	list := make([]model.ObjectRef, 0, u.Len(v))
	for ref := range flow.All(v, u.source.Collection()) {
		list = append(list, ref)
	}
	return list
}

func (u untypedSource[S]) Len(v flow.View) int { return flow.Len(v, u.source.Collection()) }

func (u untypedSource[S]) StagedChanges(v flow.View) (list []StagedChange) {
	for change := range flow.StagedChanges(v, u.source.Collection()) {
		was, existed := flow.ValueBefore(v, u.source.Collection(), change.Key)
		list = append(list, StagedChange{
			Ref: change.Key, Added: !existed, Removed: change.Deleted, OldSpec: was.Spec, NewSpec: change.Value.Spec,
		})
	}
	return list
}

func (u untypedSource[S]) Objects() Objects {
	return flow.Project(u.source.Collection(), func(ref model.ObjectRef, o Object[S]) UntypedObject {
		return UntypedObject{Ref: ref, Meta: o.Meta, Spec: o.Spec}
	})
}

func (u untypedSource[S]) MarkSynced(b *flow.Batch) { u.source.MarkSynced(b) }

func (u untypedSource[S]) Follow() Follower { return follower[S]{flow.Follow(u.source.Collection())} }

type follower[S any] struct {
	*flow.Follower[model.ObjectRef, Object[S]]
}

func (f follower[S]) ChangedRefs(v flow.View) (list []model.ObjectRef) {
	for change := range f.Changes(v) {
		if !change.Deleted {
			list = append(list, change.Key)
		}
	}
	return list
}
