package apply

import (
	"context"
	"maps"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// watcher sees what becomes of the objects that were applied. It watches the kinds that have such objects, and no
// others.
type watcher struct {
	worker *Worker
	*index
	wake         chan struct{} // there are suspects or news
	kindsChanged chan struct{} // another set of kinds is to be watched

	targetsMu   sync.Mutex
	targets     map[string]ledger.Target
	targetsRead time.Time
}

func newWatcher(w *Worker) *watcher {
	return &watcher{worker: w, index: newIndex(), wake: make(chan struct{}, 1), kindsChanged: make(chan struct{}, 1)}
}

func notifyChan(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run watches until ctx ends.
func (v *watcher) run(ctx context.Context) {
	pause := 100 * time.Millisecond
	for v.loadStatus(ctx) != nil {
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, v.worker.cfg.Poll)
	}
	var group sync.WaitGroup
	group.Go(func() { v.runReviews(ctx) })
	group.Go(func() {
		for sleep(ctx, v.worker.cfg.Resync) {
			if err := v.loadStatus(ctx); err != nil {
				v.worker.cfg.Log.Warn("the ledger does not answer", "error", err)
			}
		}
	})
	v.watchKinds(ctx)
	group.Wait()
}

// loadStatus asks the ledger for all that is applied in the cluster, and has everything compared again.
func (v *watcher) loadStatus(ctx context.Context) error {
	list, err := v.worker.cfg.Work.Status(ctx, ledger.StatusQuery{Cluster: v.worker.cfg.Cluster, Limit: everything})
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	there, failed := map[objectKey]bool{}, map[ledger.Key]bool{}
	for _, s := range list {
		if in := inCluster(s, v.worker.cfg.Cluster); in != nil && in.Applied != nil {
			there[objectKeyOf(s.Key)] = true
			failed[s.Key] = in.Applied.Code != ""
			v.noteStatus(s, *in)
		}
	}
	for p, i := range v.items {
		if !there[p] && i.activeClaims == 0 && v.ready {
			v.dropItem(p)
			continue
		}
		if i.reported.drift != "" {
			i.reported = reportedState{} // what was told long ago is looked at again
		}
		v.index.reviewObject(p)
	}
	v.worker.blocked.keepOnly(failed)
	v.ready = true
	notifyChan(v.kindsChanged)
	notifyChan(v.wake)
	return nil
}

// everything is more than any cluster has.
const everything = 10_000_000

func inCluster(s ledger.Status, cluster string) *ledger.InCluster {
	for i := range s.Clusters {
		if s.Clusters[i].Cluster == cluster {
			return &s.Clusters[i]
		}
	}
	return nil
}

// noteStatus notes what the ledger says of an object that was applied. The caller has the lock.
func (v *watcher) noteStatus(s ledger.Status, in ledger.InCluster) *trackedObject {
	if a := in.Applied; a.Code != "" {
		v.worker.blocked.setIfUnknown(s.Key, blockReason{code: a.Code, retryOn: retryConditionOf(a.Code, a.Message),
			deleted: s.Deleted})
	}
	if in.Applied.UID == "" {
		return nil // it was tried, and is not there
	}
	_, known := v.items[objectKeyOf(s.Key)]
	i := v.findOrAdd(s.Key, s.ID)
	if !known && in.Drift == "" {
		// So after a start the ledger is told nothing that it knows already.
		i.reported = reportedState{uid: in.Applied.UID, sum: in.Applied.Result, generation: in.Observed,
			answers: answeredBefore(s.LastLive(), v.worker.cfg.Cluster, in.Observed)}
	}
	if i.applied.Generation <= in.Applied.Generation {
		i.applied = *in.Applied
	}
	return i
}

// holdObject has an object not judged while a claim of it is being done.
func (v *watcher) holdObject(k ledger.Key, id string) (release func()) {
	p := objectKeyOf(k)
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.items[p]
	if i == nil {
		return func() {}
	}
	i.activeClaims++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		i.activeClaims--
		v.index.reviewObject(p)
		notifyChan(v.wake)
	}
}

// noteRecorded notes what this worker did. version is the resourceVersion that the API server answered.
func (v *watcher) noteRecorded(k ledger.Key, r ledger.Result, version string) {
	p := objectKeyOf(k)
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.Gone {
		v.dropItem(p)
		notifyChan(v.kindsChanged)
		return
	}
	i := v.findOrAdd(k, r.Object)
	if s, seen := v.strays[p]; seen && i.lastSeen == nil {
		i.lastSeen = &s
	}
	delete(v.strays, p)
	if i.applied.Generation <= r.Generation {
		i.applied = ledger.Applied{Generation: r.Generation, Revision: r.Revision, UID: r.UID,
			KubeGeneration: r.KubeGeneration, Result: r.Result}
		i.writtenVersion, i.reported = version, reportedState{}
	}
	v.index.reviewObject(p)
	notifyChan(v.kindsChanged)
	notifyChan(v.wake)
}

// noteWaiting notes that a claim waits for an object to be gone.
func (v *watcher) noteWaiting(k ledger.Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.items[objectKeyOf(k)]
	if i != nil && i.lastSeen != nil && i.lastSeen.gone {
		v.addSuspect(objectKeyOf(k), time.Time{}) // it was gone before the ledger knew that we wait
		notifyChan(v.wake)
	}
}

// suspectKey has an object looked at, whatever is known of it.
func (v *watcher) suspectKey(k ledger.Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.addSuspect(objectKeyOf(k), time.Time{})
	notifyChan(v.wake)
}

// suspectChanged has objects of a change looked at that this process knows nothing of: another worker may apply them.
func (v *watcher) suspectChanged(c ledger.Change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range c.Edited {
		if p := objectKeyOf(e.Key); v.items[p] == nil && e.Revision != 0 {
			v.addSuspect(p, time.Now().Add(reviewLatest))
		}
	}
}

// noteWatched notes what the watch saw.
func (v *watcher) noteWatched(p objectKey, s snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.noteSnapshot(p, s)
	notifyChan(v.wake)
}

// noteList notes all that a list has. A list that is older than our own writes was made before them, or the API
// server's store was restored to a state before them: a later look at the objects finds out.
func (v *watcher) noteList(of kindScope, all map[objectKey]snapshot, version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p, s := range all {
		v.noteSnapshot(p, s)
	}
	for p, i := range maps.All(v.items) {
		if p.kind != of.kind || of.namespace != "" && of.namespace != p.namespace {
			continue
		}
		if _, there := all[p]; !there {
			v.noteSnapshot(p, snapshot{gone: true, version: version})
		}
		if i.isBehind() {
			v.addSuspect(p, time.Now().Add(reviewRetry))
		}
	}
	notifyChan(v.wake)
}

// strayDelay is how long an object may be there before this process knows that it was applied.
const strayDelay = 2 * time.Second

// noteSnapshot has the lock.
func (v *watcher) noteSnapshot(p objectKey, s snapshot) {
	i := v.items[p]
	if i == nil {
		// Another worker's that we don't know yet, or made by one that came too late.
		delete(v.strays, p)
		if s.id != "" && !s.gone && !s.deleting {
			v.strays[p] = s
			v.addSuspect(p, time.Now().Add(strayDelay))
		}
		return
	}
	i.lastSeen = &s
	v.index.reviewObject(p)
}
