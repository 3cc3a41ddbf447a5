package apply

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/ledger"
)

// examineSuspects asks the ledger and then the API server about suspects: the watch is late, and other workers write,
// too.
func (v *watcher) examineSuspects(ctx context.Context, places []objectKey) error {
	if len(places) == 0 {
		return nil
	}
	targets, err := v.targetsNow(ctx)
	if err != nil {
		return err
	}
	var keys []ledger.Key
	v.mu.Lock()
	for _, p := range places {
		if i := v.items[p]; i != nil {
			keys = append(keys, i.key)
			continue
		}
		for name := range targets { // the cluster does not say which target it is of
			keys = append(keys, ledger.Key{Target: name, Group: p.kind.Group, Kind: p.kind.Kind, Namespace: p.namespace,
				Name: p.name})
		}
	}
	v.mu.Unlock()
	list, err := v.worker.cfg.Work.Status(ctx, ledger.StatusQuery{Cluster: v.worker.cfg.Cluster, Keys: keys,
		Limit: len(keys)})
	if err != nil {
		return err
	}
	known := map[objectKey]ledger.Status{}
	for _, s := range list {
		if in := inCluster(s, v.worker.cfg.Cluster); in != nil {
			known[objectKeyOf(s.Key)] = s
		}
	}
	var group sync.WaitGroup
	room := make(chan struct{}, reviewParallel)
	for _, p := range places {
		s, there := known[p]
		if !there { // not of this ledger
			v.mu.Lock()
			v.forgetUnlessHeld(p)
			v.mu.Unlock()
			continue
		}
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			v.examineOne(ctx, p, s, targets[s.Target])
		})
	}
	group.Wait()
	return nil
}

// examineOne decides about a suspect, by what the ledger says of it now.
func (v *watcher) examineOne(ctx context.Context, p objectKey, s ledger.Status, t ledger.Target) {
	in := inCluster(s, v.worker.cfg.Cluster)
	v.mu.Lock()
	i := v.items[p]
	switch {
	case in.Applied != nil && in.Applied.UID != "":
		i = v.noteStatus(s, *in)
		notifyChan(v.kindsChanged)
	case in.Applied == nil && i != nil && i.activeClaims == 0:
		v.forgetUnlessHeld(p) // another worker deleted it
		i = nil
	}
	held := i != nil && i.activeClaims > 0
	waits := in.Applied != nil && in.Applied.Code == ledger.Waiting
	v.mu.Unlock()
	switch {
	case held:
		return // it is looked at when the claim is done
	case !in.Due.IsZero() && !waits && i == nil:
		v.reviewLater([]objectKey{p}, reviewLatest) // nothing is there yet that could differ
		return
	case !in.Due.IsZero() && !waits:
		// To be written, or being written by another worker.
		v.reviewLater([]objectKey{p}, min(max(in.Due.Sub(v.worker.cfg.Now()), reviewRetry), reviewLatest))
		return
	}
	live, err := v.readLive(ctx, p)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			v.reviewLater([]objectKey{p}, reviewRetry)
		}
	case waits:
		if live == nil {
			v.worker.retryKeys(ctx, []ledger.Key{s.Key}) // what it waited for has happened
		}
	case i == nil:
		v.deleteStray(ctx, p, s, live)
	default:
		v.compareObject(ctx, driftCandidate{p, s, *in, t, live})
	}
}

// forgetUnlessHeld drops what is known of a place, unless it is being written. The caller has the lock.
func (v *watcher) forgetUnlessHeld(p objectKey) {
	delete(v.strays, p)
	if i := v.items[p]; i != nil && i.activeClaims == 0 {
		v.dropItem(p)
		notifyChan(v.kindsChanged)
	}
}

// readLive gets the object as it is, in the version of its kind that the ledger wrote; nil: it is not there.
func (v *watcher) readLive(ctx context.Context, p objectKey) (*unstructured.Unstructured, error) {
	m, err := v.worker.api.findMapping(ctx, p.kind, "")
	if err != nil {
		if v.worker.api.lacksKind(ctx, p.kind) {
			return nil, nil
		}
		return nil, err
	}
	live, err := v.worker.api.clientFor(m, p.namespace, p.name).get(ctx)
	if live == nil || err != nil {
		return nil, err
	}
	if version := ourVersion(live); version != "" && version != live.GetAPIVersion() {
		if m, err = v.worker.api.findMapping(ctx, p.kind, schema.FromAPIVersionAndKind(version,
			p.kind.Kind).Version); err != nil {
			return live, nil // that version is not served any more
		}
		return v.worker.api.clientFor(m, p.namespace, p.name).get(ctx)
	}
	return live, nil
}

// deleteStray has an object deleted that the ledger deleted: a worker that came too late made it again.
func (v *watcher) deleteStray(ctx context.Context, p objectKey, s ledger.Status, live *unstructured.Unstructured) {
	v.mu.Lock()
	v.forgetUnlessHeld(p)
	v.mu.Unlock()
	if !s.Deleted || live == nil || live.GetAnnotations()[ledger.ObjectAnnotation] != s.ID {
		return
	}
	v.reportObservation(ctx, ledger.Observation{Object: s.ID, UID: string(live.GetUID()),
		ResourceVersion: live.GetResourceVersion(),
		Generation:      generationOf(live), Correct: true,
		Drift: fmt.Sprintf("was created again, in generation %d, after it was deleted", generationOf(live))})
}
