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
	w *Worker
	*index
	wake chan struct{} // there are suspects or news
	kind chan struct{} // another set of kinds is to be watched

	targetsMu sync.Mutex
	targets   map[string]ledger.Target
	asked     time.Time
}

func newWatcher(w *Worker) *watcher {
	return &watcher{w: w, index: newIndex(), wake: make(chan struct{}, 1), kind: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run watches until ctx ends.
func (v *watcher) run(ctx context.Context) {
	pause := 100 * time.Millisecond
	for v.load(ctx) != nil {
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, v.w.cfg.Poll)
	}
	var group sync.WaitGroup
	group.Go(func() { v.look(ctx) })
	group.Go(func() {
		for sleep(ctx, v.w.cfg.Resync) {
			if err := v.load(ctx); err != nil {
				v.w.cfg.Log.Warn("the ledger does not answer", "error", err)
			}
		}
	})
	v.watchKinds(ctx)
	group.Wait()
}

// load asks the ledger for all that is applied in the cluster, and has everything compared again.
func (v *watcher) load(ctx context.Context) error {
	list, err := v.w.cfg.Work.Status(ctx, ledger.StatusQuery{Cluster: v.w.cfg.Cluster, Limit: everything})
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	there, failed := map[place]bool{}, map[ledger.Key]bool{}
	for _, s := range list {
		if in := inCluster(s, v.w.cfg.Cluster); in != nil && in.Applied != nil {
			there[placeOf(s.Key)] = true
			failed[s.Key] = in.Applied.Code != ""
			v.take(s, *in)
		}
	}
	for p, i := range v.items {
		if !there[p] && i.holds == 0 && v.ready {
			v.drop(p)
			continue
		}
		if i.told.drift != "" {
			i.told = told{} // what was told long ago is looked at again
		}
		v.index.look(p)
	}
	v.w.blocked.keep(failed)
	v.ready = true
	signal(v.kind)
	signal(v.wake)
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

// take notes what the ledger says of an object that was applied. The caller has the lock.
func (v *watcher) take(s ledger.Status, in ledger.InCluster) *item {
	if a := in.Applied; a.Code != "" {
		v.w.blocked.note(s.Key, block{code: a.Code, why: whyOf(a.Code, a.Message), deleted: s.Deleted})
	}
	if in.Applied.UID == "" {
		return nil // it was tried, and is not there
	}
	_, known := v.items[placeOf(s.Key)]
	i := v.put(s.Key, s.ID)
	if !known && in.Drift == "" {
		// So after a start the ledger is told nothing that it knows already.
		i.told = told{uid: in.Applied.UID, sum: in.Applied.Result, generation: in.Observed,
			answers: answeredBefore(s.LastLive(), v.w.cfg.Cluster, in.Observed)}
	}
	if i.applied.Generation <= in.Applied.Generation {
		i.applied = *in.Applied
	}
	return i
}

// hold has an object not judged while a claim of it is being done.
func (v *watcher) hold(k ledger.Key, id string) (release func()) {
	p := placeOf(k)
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.items[p]
	if i == nil {
		return func() {}
	}
	i.holds++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		i.holds--
		v.index.look(p)
		signal(v.wake)
	}
}

// recorded notes what this worker did. version is the resourceVersion that the API server answered.
func (v *watcher) recorded(k ledger.Key, r ledger.Result, version string) {
	p := placeOf(k)
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.Gone {
		v.drop(p)
		signal(v.kind)
		return
	}
	i := v.put(k, r.Object)
	if s, seen := v.strays[p]; seen && i.seen == nil {
		i.seen = &s
	}
	delete(v.strays, p)
	if i.applied.Generation <= r.Generation {
		i.applied = ledger.Applied{Generation: r.Generation, Revision: r.Revision, UID: r.UID,
			KubeGeneration: r.KubeGeneration, Result: r.Result}
		i.version, i.told = version, told{}
	}
	v.index.look(p)
	signal(v.kind)
	signal(v.wake)
}

// waits notes that a claim waits for an object to be gone.
func (v *watcher) waits(k ledger.Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.items[placeOf(k)]
	if i != nil && i.seen != nil && i.seen.gone {
		v.suspect(placeOf(k), time.Time{}) // it was gone before the ledger knew that we wait
		signal(v.wake)
	}
}

// suspectKey has an object looked at, whatever is known of it.
func (v *watcher) suspectKey(k ledger.Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.suspect(placeOf(k), time.Time{})
	signal(v.wake)
}

// changed has objects of a change looked at that this process knows nothing of: another worker may apply them.
func (v *watcher) changed(c ledger.Change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range c.Edited {
		if p := placeOf(e.Key); v.items[p] == nil && e.Revision != 0 {
			v.suspect(p, time.Now().Add(lookLatest))
		}
	}
}

// saw notes what the watch saw.
func (v *watcher) saw(p place, s sight) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note(p, s)
	signal(v.wake)
}

// sawAll notes all that a list has. A list that is older than our own writes was made before them, or the API server's
// store was restored to a state before them: a later look at the objects finds out.
func (v *watcher) sawAll(of scope, all map[place]sight, version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p, s := range all {
		v.note(p, s)
	}
	for p, i := range maps.All(v.items) {
		if p.kind != of.kind || of.namespace != "" && of.namespace != p.namespace {
			continue
		}
		if _, there := all[p]; !there {
			v.note(p, sight{gone: true, version: version})
		}
		if i.behind() {
			v.suspect(p, time.Now().Add(lookAgain))
		}
	}
	signal(v.wake)
}

// strayPatience is how long an object may be there before this process knows that it was applied.
const strayPatience = 2 * time.Second

// note has the lock.
func (v *watcher) note(p place, s sight) {
	i := v.items[p]
	if i == nil {
		// Another worker's that we don't know yet, or made by one that came too late.
		delete(v.strays, p)
		if s.id != "" && !s.gone && !s.ending {
			v.strays[p] = s
			v.suspect(p, time.Now().Add(strayPatience))
		}
		return
	}
	i.seen = &s
	v.index.look(p)
}
