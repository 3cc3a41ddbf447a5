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

// kindPace is how soon a kind is asked for again.
var kindPace = pace{250 * time.Millisecond, 2 * time.Second}

// refusalTimeout is how long a kind may be refused before nothing waits for it any more. An API server that has just
// started may refuse a kind that it serves, so this is not at once.
const refusalTimeout = 10 * time.Second

// rereadDelays are the times after a change of its definition at which a kind is listed again. A watch goes on with the
// schema that the API server had when it was opened, and an API server takes a new one a moment later than it tells of
// it, one of several later still.
var rereadDelays = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// feed reads all objects of one kind, as long as there is such a kind.
type feed struct {
	*Watcher
	decl   *kind.Kind
	relist chan struct{} // capacity 1: the kind is to be listed again

	mu                sync.Mutex
	version           int // of kind.Versions: the one that is tried
	definition        definition
	definitionChanged chan struct{} // capacity 1: definition is another one
	rereadTimes       []time.Time   // when the kind is to be listed again, in order
	// since when the API server has said that the kind is not there, or not permitted; zero: it has not
	refusedSince time.Time
	refusal      string // its words
}

func newFeed(e *Watcher, k *kind.Kind) *feed {
	f := &feed{Watcher: e, decl: k, relist: make(chan struct{}, 1), definitionChanged: make(chan struct{}, 1)}
	if f.decl.Definition == nil {
		f.definition = definition{known: true, present: true}
	}
	return f
}

// run reads the kind until ctx ends.
func (f *feed) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	if f.decl.Definition != nil {
		group.Go(func() { f.followDefinition(ctx) })
	}
	for ctx.Err() == nil {
		switch d := f.currentDefinition(); {
		case d.present:
			f.readKind(ctx)
			continue
		case d.known:
			f.markReadable(func(*KindState) {})
			f.markMissing("it is not installed")
			// the API server deletes the objects of a kind that it deletes
			f.mail.putEvent(event{action: isReplaced, objectKind: f.decl.Kind})
		}
		select {
		case <-ctx.Done():
		case <-f.definitionChanged:
		}
	}
}

// readKind follows the kind's objects until ctx ends, or there is a reason to begin anew: it is to be listed again, is
// gone, or may be served by now.
func (f *feed) readKind(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	f.version = 0
	f.mu.Unlock()
	var reflector sync.WaitGroup
	reflector.Go(func() { followObjects(ctx, versionedReader{f}, f.newSink(), kindPace) })
	defer reflector.Wait()
	defer cancel()
	look := time.NewTicker(refusalTimeout / 10)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.relist:
			return
		case <-f.definitionChanged:
			if _, refused := f.refusedFor(0); refused || !f.currentDefinition().present {
				return // at once, not when the reflector would ask again
			}
		case <-look.C:
			if f.mustReread() {
				return
			}
			if why, refused := f.refusedFor(refusalTimeout); refused {
				if f.markMissing(why) {
					f.mail.putEvent(event{action: isUnreadable, objectKind: f.decl.Kind})
				}
			}
		}
	}
}

// mustReread says, once for each of its times, that it is time to list the kind again.
func (f *feed) mustReread() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	later := slices.DeleteFunc(f.rereadTimes, func(at time.Time) bool { return !at.After(f.now()) })
	is := len(later) < len(f.rereadTimes)
	f.rereadTimes = later
	return is
}

func (f *feed) newSink() sink[*object] {
	return sink[*object]{
		trim: func(from any) (*object, error) { return trimObject(f.decl, from, kind.AllKeys) },
		replace: func(objects []*object) {
			f.metrics.countList(f.decl.Kind)
			f.mail.putEvent(event{action: isReplaced, objectKind: f.decl.Kind, objects: objects})
		},
		set: func(o *object) { f.mail.putEvent(event{action: isSet, objectKind: f.decl.Kind, object: o}) },
		remove: func(o metav1.Object) {
			f.mail.putEvent(event{action: isRemoved, objectKind: f.decl.Kind, ref: model.Ref(f.decl.Kind, o.GetNamespace(),
				o.GetName())})
		},
		onFailure: f.noteFailure,
		onAnswer:  f.noteAnswer,
	}
}

// refusedFor says whether the API server has refused the kind for so long, and why.
func (f *feed) refusedFor(d time.Duration) (why string, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refusal, !f.refusedSince.IsZero() && f.now().Sub(f.refusedSince) >= d
}

// noteFailure takes why a request failed.
func (f *feed) noteFailure(err error) {
	f.metrics.countError(f.decl.Kind)
	f.mu.Lock()
	refused := apierrors.IsNotFound(err) || f.decl.Optional && apierrors.IsForbidden(err)
	if apierrors.IsNotFound(err) {
		f.version = (f.version + 1) % len(f.decl.Versions)
	}
	switch {
	case !refused:
		f.refusedSince = time.Time{}
	case f.refusedSince.IsZero():
		f.refusedSince, f.refusal = f.now(), err.Error()
	}
	f.mu.Unlock()
	f.status.updateKind(f.decl.Kind, func(k *KindState) {
		if k.Since.IsZero() {
			k.Since = f.now()
		}
		k.Err = err.Error()
	})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		f.outage.noteAnswer(f.decl.Kind, err)
	} else {
		f.outage.noteFailure(f.decl.Kind, err)
	}
}

// noteAnswer notes that a request was answered.
func (f *feed) noteAnswer() {
	f.mu.Lock()
	f.refusedSince = time.Time{}
	version := f.decl.GroupVersion(f.version).String()
	f.mu.Unlock()
	before := f.markReadable(func(k *KindState) { k.Missing, k.Version = "", version })
	if before.Missing != "" {
		f.log.Info("kind is read now", "kind", f.decl.String(), "version", version)
	}
}

// markReadable notes that the API server tells all there is of the kind, and what else changes with that.
func (f *feed) markReadable(change func(*KindState)) (before KindState) {
	f.outage.noteAnswer(f.decl.Kind, nil)
	return f.status.updateKind(f.decl.Kind, func(k *KindState) {
		k.Err, k.Since = "", time.Time{}
		change(k)
	})
}

// markMissing says, once, that there is no such kind as things are. It returns whether that is news.
func (f *feed) markMissing(why string) bool {
	before := f.status.updateKind(f.decl.Kind, func(k *KindState) { k.Missing = why })
	if before.Missing != "" {
		return false
	}
	log := f.log.With("kind", f.decl.String(), "definition", f.decl.ResourceName(), "reason", why)
	if f.decl.Optional {
		log.Info("kind can't be read and is ignored")
	} else {
		log.Warn("kind can't be read; install the Gateway API", "see", installURL)
	}
	return true
}
