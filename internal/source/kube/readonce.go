package kube

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// maxParallel is how many requests ReadOnce makes at a time.
const maxParallel = 8

// UnreadKind is a kind that ReadOnce could not read completely.
type UnreadKind struct {
	Kind *kind.Kind
	// Objects are those that could not be read, if objects of the kind are read one by one; nil: none of the kind could.
	Objects []model.ObjectRef
	Why     string // in the API server's words, about the first of Objects
}

// String is "httproutes.gateway.networking.k8s.io can't be read: WHY".
func (u UnreadKind) String() string {
	what := u.Kind.ResourceName()
	if len(u.Objects) > 0 {
		what = fmt.Sprintf("%d %s that other objects refer to", len(u.Objects), what)
	}
	return what + " can't be read: " + u.Why
}

var errNotInstalled = errors.New("the cluster has no such kind: its CRD is not installed")

// ReadOnce reads the cluster into the graph as it is now, in place of Run. It only lists, so a user needs no permission
// to watch. It returns the kinds and objects that it may not read, and the kinds that are not installed and not
// optional; the graph is complete without them. An error is any other answer, or none.
func (e *Watcher) ReadOnce(ctx context.Context) (unread []UnreadKind, err error) {
	var asked []demandedObject
	e.admitter.startReading = func(ref model.ObjectRef, keys kind.DataKeys) func() {
		asked = append(asked, demandedObject{ref, keys})
		return func() {}
	}
	e.admitter.relistKind = func(model.Kind) {} // nothing changes meanwhile
	var kinds []*kind.Kind
	for _, k := range e.sources.Catalog.All() {
		if k.ReadScope != kind.OnDemand {
			kinds = append(kinds, k)
		}
	}
	events, err := gatherEvents(ctx, kinds, e.listKind)
	for err == nil && len(events) > 0 {
		unread = e.noteUnread(unread, events)
		e.admitter.processEvents(events, e.now())
		wanted := asked
		asked = nil
		events, err = gatherEvents(ctx, wanted, e.readObject)
	}
	return unread, err
}

// ReadAlso reads single objects into the graph, after ReadOnce: such as nothing in the cluster refers to, so that they
// were not read. One that does not exist is none.
func (e *Watcher) ReadAlso(ctx context.Context, refs []model.ObjectRef) (unread []UnreadKind, err error) {
	var wanted []demandedObject
	for _, ref := range refs {
		wanted = append(wanted, demandedObject{ref, kind.AllKeys})
	}
	events, err := gatherEvents(ctx, wanted, e.readObject)
	if err != nil {
		return nil, err
	}
	e.graph.Apply("kube", func(b *flow.Batch) {
		for _, v := range events {
			if v.object != nil {
				e.admitter.writeEdit(b, edit{ref: v.ref, object: v.object})
			}
		}
	})
	return e.noteUnread(nil, events), nil
}

// demandedObject is an object that the admitter asks for.
type demandedObject struct {
	ref  model.ObjectRef
	keys kind.DataKeys
}

// gatherEvents makes an event of each item, some at a time, in their order.
func gatherEvents[T any](ctx context.Context, items []T, of func(context.Context, T) (event, error)) ([]event, error) {
	events := make([]event, len(items))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for i, item := range items {
		group.Go(func() (err error) {
			events[i], err = of(ctx, item)
			return err
		})
	}
	return events, group.Wait()
}

// listKind reads all objects of a kind, in the first of its versions that is served.
func (e *Watcher) listKind(ctx context.Context, k *kind.Kind) (event, error) {
	for i := range k.Versions {
		objects, err := allOf(ctx, k, e.clients.kindReader(k, k.GroupVersion(i)), kind.AllKeys)
		switch {
		case err == nil:
			return event{action: isReplaced, objectKind: k.Kind, objects: objects}, nil
		case apierrors.IsForbidden(err):
			return event{action: isUnreadable, objectKind: k.Kind, err: err}, nil
		case !apierrors.IsNotFound(err):
			return event{}, fmt.Errorf("read %s: %w", k.ResourceName(), err)
		}
	}
	return event{action: isUnreadable, objectKind: k.Kind, err: errNotInstalled}, nil
}

// readObject is one object, or that there is none.
func (e *Watcher) readObject(ctx context.Context, d demandedObject) (event, error) {
	k := e.sources.Catalog.FindKind(d.ref.Kind())
	objects, err := allOf(ctx, k, e.clients.objectReader(k, d.ref.Namespace(), d.ref.Name()), d.keys)
	answer := event{action: isAnswered, objectKind: d.ref.Kind(), ref: d.ref, keys: d.keys}
	switch {
	case apierrors.IsForbidden(err):
		answer.action, answer.err = isFailed, err
	case apierrors.IsNotFound(err): // the cluster does not serve the kind, so there is none
	case err != nil:
		return event{}, fmt.Errorf("read %s: %w", d.ref, err)
	case len(objects) > 0:
		answer.object = objects[0]
	}
	return answer, nil
}

// allOf is all that a reader reads, page by page.
func allOf(ctx context.Context, k *kind.Kind, from reader, keys kind.DataKeys) (objects []*object, err error) {
	err = pager.New(from.List).EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		o, err := trimObject(k, item, keys)
		objects = append(objects, o)
		return err
	})
	return objects, err
}

// noteUnread adds what events say could not be read.
func (e *Watcher) noteUnread(list []UnreadKind, events []event) []UnreadKind {
	for _, v := range events {
		k := e.sources.Catalog.FindKind(v.objectKind)
		switch last := len(list) - 1; {
		case v.err == nil, k.Optional && errors.Is(v.err, errNotInstalled):
		case v.action == isUnreadable:
			list = append(list, UnreadKind{Kind: k, Why: v.err.Error()})
		case last >= 0 && list[last].Kind == k:
			list[last].Objects = append(list[last].Objects, v.ref)
		default:
			list = append(list, UnreadKind{Kind: k, Objects: []model.ObjectRef{v.ref}, Why: v.err.Error()})
		}
	}
	return list
}
