package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/ledger"
)

const (
	lookMost     = 200                   // objects that are looked at in one round
	lookParallel = 4                     // of them at a time
	lookPatience = 20 * time.Millisecond // before a round, so that events of one edit come together
	lookAgain    = time.Second           // after which what is on its way is looked at again
	lookLatest   = 30 * time.Second
)

// look looks at suspects and tells the ledger news, until ctx ends.
func (v *watcher) look(ctx context.Context) {
	for {
		if !v.await(ctx) || !sleep(ctx, lookPatience) {
			return
		}
		news, suspects := v.taken()
		if !v.tell(ctx, news) {
			sleep(ctx, lookAgain)
		}
		if err := v.examine(ctx, suspects); err != nil && ctx.Err() == nil {
			v.w.cfg.Log.Warn("can't tell whether objects are as they were applied", "objects", len(suspects), "error", err)
			v.again(suspects, lookAgain)
			sleep(ctx, lookAgain)
		}
	}
}

// await waits until there is something to do. False: ctx ended.
func (v *watcher) await(ctx context.Context) bool {
	v.mu.Lock()
	next := v.w.cfg.Poll
	if len(v.news) > 0 {
		next = 0
	}
	for _, at := range v.suspects {
		next = min(next, time.Until(at))
	}
	v.mu.Unlock()
	if next <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(next)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-v.wake:
	}
	return true
}

// taken takes what is to be told, and what is to be looked at now.
func (v *watcher) taken() (news []place, suspects []place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := range v.index.news {
		news = append(news, p)
	}
	clear(v.index.news)
	now := time.Now()
	for p, at := range v.suspects {
		if len(suspects) < lookMost && !at.After(now) {
			suspects = append(suspects, p)
			delete(v.suspects, p)
		}
	}
	return news, suspects
}

// tell tells the ledger of objects that are as applied. False: it does not answer.
func (v *watcher) tell(ctx context.Context, places []place) bool {
	var list []ledger.Observation
	said := map[place]told{}
	v.mu.Lock()
	for _, p := range places {
		if i := v.items[p]; i != nil && i.judge() == fresh {
			s := i.seen
			list = append(list, ledger.Observation{Object: i.id, UID: s.uid, ResourceVersion: s.version,
				Generation: s.generation, Result: s.sum})
			said[p] = i.toldOf(s)
		}
	}
	v.mu.Unlock()
	if len(list) == 0 {
		return true
	}
	err := v.w.cfg.Work.Observe(ctx, v.w.cfg.Cluster, list)
	if err != nil && ctx.Err() == nil {
		v.w.cfg.Log.Warn("the ledger does not answer", "error", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for p, t := range said {
		if i := v.items[p]; i != nil {
			if err == nil {
				i.told = t
			}
			v.index.look(p)
		}
	}
	return err == nil
}

// again has places looked at later.
func (v *watcher) again(places []place, after time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range places {
		v.suspect(p, time.Now().Add(after))
	}
}

// examine asks the ledger and then the API server about suspects: the watch is late, and other workers write, too.
func (v *watcher) examine(ctx context.Context, places []place) error {
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
	list, err := v.w.cfg.Work.Status(ctx, ledger.StatusQuery{Cluster: v.w.cfg.Cluster, Keys: keys, Limit: len(keys)})
	if err != nil {
		return err
	}
	known := map[place]ledger.Status{}
	for _, s := range list {
		if in := inCluster(s, v.w.cfg.Cluster); in != nil {
			known[placeOf(s.Key)] = s
		}
	}
	var group sync.WaitGroup
	room := make(chan struct{}, lookParallel)
	for _, p := range places {
		s, there := known[p]
		if !there {
			continue // not of this ledger
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
func (v *watcher) examineOne(ctx context.Context, p place, s ledger.Status, t ledger.Target) {
	in := inCluster(s, v.w.cfg.Cluster)
	v.mu.Lock()
	i := v.items[p]
	if in.Applied != nil && in.Applied.UID != "" {
		i = v.take(s, *in)
		signal(v.kind)
	}
	held := i != nil && i.holds > 0
	waits := in.Applied != nil && in.Applied.Code == ledger.Waiting
	v.mu.Unlock()
	switch {
	case held:
		return // it is looked at when the claim is done
	case !in.Due.IsZero() && !waits:
		// To be written, or being written by another worker.
		v.again([]place{p}, min(max(in.Due.Sub(v.w.cfg.Now()), lookAgain), lookLatest))
		return
	}
	live, err := v.read(ctx, p)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			v.again([]place{p}, lookAgain)
		}
	case waits:
		if live == nil {
			v.w.retry(ctx, []ledger.Key{s.Key}) // what it waited for has happened
		}
	case i == nil:
		v.stray(ctx, p, s, live)
	default:
		v.compare(ctx, subject{p, s, *in, t, live})
	}
}

// read is the object as it is, in the version in which the ledger wrote it; nil: it is not there.
func (v *watcher) read(ctx context.Context, p place) (*unstructured.Unstructured, error) {
	m, err := v.w.api.kind(ctx, p.kind, "")
	if err != nil {
		if v.w.api.lacks(ctx, p.kind) {
			return nil, nil
		}
		return nil, err
	}
	live, err := v.w.api.object(m, p.namespace, p.name).get(ctx)
	if live == nil || err != nil {
		return nil, err
	}
	if version := ourVersion(live); version != "" && version != live.GetAPIVersion() {
		if m, err = v.w.api.kind(ctx, p.kind, schema.FromAPIVersionAndKind(version, p.kind.Kind).Version); err != nil {
			return live, nil // that version is not served any more
		}
		return v.w.api.object(m, p.namespace, p.name).get(ctx)
	}
	return live, nil
}

// stray has an object deleted that the ledger deleted: a worker that came too late made it again.
func (v *watcher) stray(ctx context.Context, p place, s ledger.Status, live *unstructured.Unstructured) {
	v.mu.Lock()
	delete(v.strays, p)
	v.mu.Unlock()
	if !s.Deleted || live == nil || live.GetAnnotations()[ledger.ObjectAnnotation] != s.ID {
		return
	}
	v.observe(ctx, ledger.Observation{Object: s.ID, UID: string(live.GetUID()), ResourceVersion: live.GetResourceVersion(),
		Generation: generationOf(live), Correct: true,
		Drift: fmt.Sprintf("was made again, in generation %d, after it was deleted", generationOf(live))})
}

// observe tells the ledger of drift.
func (v *watcher) observe(ctx context.Context, o ledger.Observation) bool {
	if err := v.w.cfg.Work.Observe(ctx, v.w.cfg.Cluster, []ledger.Observation{o}); err != nil {
		if ctx.Err() == nil {
			v.w.cfg.Log.Warn("the ledger does not answer", "error", err)
		}
		return false
	}
	if o.Correct {
		v.w.due()
	}
	return true
}

// targetsNow are the targets by name, as they were at most two seconds ago.
func (v *watcher) targetsNow(ctx context.Context) (map[string]ledger.Target, error) {
	v.targetsMu.Lock()
	defer v.targetsMu.Unlock()
	if v.targets != nil && time.Since(v.asked) < 2*time.Second {
		return v.targets, nil
	}
	list, err := v.w.cfg.Targets(ctx)
	if err != nil {
		return nil, err
	}
	v.targets, v.asked = map[string]ledger.Target{}, time.Now()
	for _, t := range list {
		v.targets[t.Name] = t
	}
	return v.targets, nil
}
