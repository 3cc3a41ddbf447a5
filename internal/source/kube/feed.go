package kube

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// feedPace is how soon a kind is asked for again.
var feedPace = pace{250 * time.Millisecond, 2 * time.Second}

// giveUp is how long a kind may be refused before nothing waits for it any more. An API server that has just started
// may refuse a kind that it serves, so this is not at once.
const giveUp = 10 * time.Second

// rereads are the times after a change of its definition at which a kind is listed again. A watch goes on with the
// schema that the API server had when it was opened, and an API server takes a new one a moment later than it tells of
// it, one of several later still.
var rereads = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// feed reads all objects of one kind, as long as there is such a kind.
type feed struct {
	*Edge
	kind   *kind.Kind
	relist chan struct{} // capacity 1: the kind is to be listed again

	mu         sync.Mutex
	version    int // of kind.Versions: the one that is tried
	definition definition
	changed    chan struct{} // capacity 1: definition is another one
	reread     []time.Time   // when the kind is to be listed again, in order
	// since when the API server has said that the kind is not there, or not permitted; zero: it has not
	refused time.Time
	refusal string // its words
}

func newFeed(e *Edge, k *kind.Kind) *feed {
	f := &feed{Edge: e, kind: k, relist: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	if f.kind.Definition == nil {
		f.definition = definition{known: true, present: true}
	}
	return f
}

// run reads the kind until ctx ends.
func (f *feed) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	if f.kind.Definition != nil {
		group.Go(func() { f.followDefinition(ctx) })
	}
	for ctx.Err() == nil {
		switch d := f.defined(); {
		case d.present:
			f.read(ctx)
			continue
		case d.known:
			f.well(func(*KindState) {})
			f.missing("it is not installed")
			// the API server deletes the objects of a kind that it deletes
			f.mail.put(event{what: isReplaced, kind: f.kind.Kind})
		}
		select {
		case <-ctx.Done():
		case <-f.changed:
		}
	}
}

// read follows the kind's objects until ctx ends, or there is a reason to begin anew: it is to be listed again, is
// gone, or may be served by now.
func (f *feed) read(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	f.version = 0
	f.mu.Unlock()
	var reflector sync.WaitGroup
	reflector.Go(func() { follow(ctx, versioned{f}, f.sink(), feedPace) })
	defer reflector.Wait()
	defer cancel()
	look := time.NewTicker(giveUp / 10)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.relist:
			return
		case <-f.changed:
			if _, refused := f.refusedFor(0); refused || !f.defined().present {
				return // at once, not when the reflector would ask again
			}
		case <-look.C:
			if f.mustReread() {
				return
			}
			if why, refused := f.refusedFor(giveUp); refused {
				if f.missing(why) {
					f.mail.put(event{what: isUnreadable, kind: f.kind.Kind})
				}
			}
		}
	}
}

// mustReread says, once for each of its times, that it is time to list the kind again.
func (f *feed) mustReread() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	later := slices.DeleteFunc(f.reread, func(at time.Time) bool { return !at.After(f.now()) })
	is := len(later) < len(f.reread)
	f.reread = later
	return is
}

func (f *feed) sink() sink[*object] {
	return sink[*object]{
		trim: func(from any) (*object, error) { return trim(f.kind, from, kind.AllKeys) },
		replace: func(objects []*object) {
			f.metrics.listed(f.kind.Kind)
			f.mail.put(event{what: isReplaced, kind: f.kind.Kind, objects: objects})
		},
		set: func(o *object) { f.mail.put(event{what: isSet, kind: f.kind.Kind, object: o}) },
		remove: func(o metav1.Object) {
			f.mail.put(event{what: isRemoved, kind: f.kind.Kind, ref: model.Ref(f.kind.Kind, o.GetNamespace(), o.GetName())})
		},
		failed: f.failed,
		works:  f.works,
	}
}

// refusedFor says whether the API server has refused the kind for so long, and why.
func (f *feed) refusedFor(d time.Duration) (why string, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refusal, !f.refused.IsZero() && f.now().Sub(f.refused) >= d
}

// failed takes why a request failed.
func (f *feed) failed(err error) {
	f.metrics.failed(f.kind.Kind)
	f.mu.Lock()
	refused := apierrors.IsNotFound(err) || f.kind.Optional && apierrors.IsForbidden(err)
	if apierrors.IsNotFound(err) {
		f.version = (f.version + 1) % len(f.kind.Versions)
	}
	switch {
	case !refused:
		f.refused = time.Time{}
	case f.refused.IsZero():
		f.refused, f.refusal = f.now(), err.Error()
	}
	f.mu.Unlock()
	f.board.set(f.kind.Kind, func(k *KindState) {
		if k.Since.IsZero() {
			k.Since = f.now()
		}
		k.Err = err.Error()
	})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		f.outage.answered(f.kind.Kind, err)
	} else {
		f.outage.failed(f.kind.Kind, err)
	}
}

// works notes that a request was answered.
func (f *feed) works() {
	f.mu.Lock()
	f.refused = time.Time{}
	version := f.kind.GroupVersion(f.version).String()
	f.mu.Unlock()
	before := f.well(func(k *KindState) { k.Missing, k.Version = "", version })
	if before.Missing != "" {
		f.log.Info("kind is read now", "kind", f.kind.String(), "version", version)
	}
}

// well notes that the API server tells all there is of the kind, and what else changes with that.
func (f *feed) well(change func(*KindState)) (before KindState) {
	f.outage.answered(f.kind.Kind, nil)
	return f.board.set(f.kind.Kind, func(k *KindState) {
		k.Err, k.Since = "", time.Time{}
		change(k)
	})
}

// missing says, once, that there is no such kind as things are. It returns whether that is news.
func (f *feed) missing(why string) bool {
	before := f.board.set(f.kind.Kind, func(k *KindState) { k.Missing = why })
	if before.Missing != "" {
		return false
	}
	log := f.log.With("kind", f.kind.String(), "definition", f.kind.Resource(), "reason", why)
	if f.kind.Optional {
		log.Info("kind can't be read; Cardea does without")
	} else {
		log.Warn("kind can't be read; install the Gateway API", "see", install)
	}
	return true
}
