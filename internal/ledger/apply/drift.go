package apply

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/ledger"
)

// subject is an object that may have drifted: as the ledger has it, and as it is.
type subject struct {
	place
	status ledger.Status
	in     ledger.InCluster
	target ledger.Target
	live   *unstructured.Unstructured // nil: it is not there
}

// compare compares an object with what was applied last, and does what its target wants of drift.
func (v *watcher) compare(ctx context.Context, s subject) {
	now := s.sight()
	v.mu.Lock()
	i := v.items[s.place]
	if i == nil || i.holds > 0 {
		v.mu.Unlock()
		return
	}
	before := i.seen
	i.seen = &now
	i.version = "" // what was read is newer than all that was written before
	verdict := i.judge()
	// A generation that is not the one that was recorded may be another worker's, which records it any moment.
	unsure := now.generation != i.applied.Generation && now.generation != 0 &&
		(before == nil || before.version != now.version || before.generation != now.generation)
	v.mu.Unlock()
	switch {
	case verdict != suspicious:
		v.mu.Lock()
		v.index.look(s.place)
		v.mu.Unlock()
	case unsure:
		v.again([]place{s.place}, lookAgain)
	default:
		v.drifted(ctx, s, now)
	}
}

// sight is the object as it was read.
func (s subject) sight() sight {
	if s.live == nil {
		return sight{gone: true}
	}
	return sight{uid: string(s.live.GetUID()), version: s.live.GetResourceVersion(), generation: generationOf(s.live),
		id: s.live.GetAnnotations()[ledger.ObjectAnnotation], ending: s.live.GetDeletionTimestamp() != nil,
		sum: sum(s.live, exactKind(s.kind)), whole: whole(s.live)}
}

// drifted tells the ledger of drift, and has it corrected, or adopts it.
func (v *watcher) drifted(ctx context.Context, s subject, now sight) {
	words, by := v.words(ctx, s)
	o := ledger.Observation{Object: s.status.ID, UID: now.uid, ResourceVersion: now.version, Generation: now.generation,
		Result: now.sum, Drift: words, By: by}
	did := "reported"
	switch {
	case now.id == s.status.ID && now.generation > s.status.Newest:
		// Nobody else wrote that: the ledger did, before it was restored. The claim finds out whether it counts.
		o.Correct = true
	case s.target.Drift == ledger.DriftReport:
	case s.target.Drift == ledger.DriftAdopt:
		if v.w.cfg.Adopt != nil && !now.gone && now.uid == s.in.Applied.UID {
			did = "adopted"
			if err := v.adopt(ctx, s, by); err != nil {
				did = "reported"
				o.Drift += "; it can't be adopted: " + err.Error()
			}
			break
		}
		// Nobody knows who deleted an object, and nothing is left to be adopted.
		o.Correct = now.gone
	default:
		o.Correct = true
	}
	if o.Correct {
		did, o.Gone = "corrected", now.gone
		v.mu.Lock()
		if i := v.items[s.place]; i != nil {
			pause := i.fight.round(by, v.w.cfg.Now())
			if o.After = int(pause / time.Second); o.After > 0 {
				o.Drift += fmt.Sprintf("; %s undoes the ledger's writes again and again, so they are made less often",
					orSomebody(by))
			}
		}
		v.mu.Unlock()
	}
	if !v.observe(ctx, o) {
		v.again([]place{s.place}, lookAgain)
		return
	}
	v.w.cfg.Metrics.drift.WithLabelValues(v.w.cfg.Cluster, did).Inc()
	v.w.cfg.Log.Info("an object was changed in the cluster", "object", s.status.Key.String(), "what", words, "by", by,
		"did", did)
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.items[s.place]; i != nil {
		i.told = told{uid: now.uid, sum: now.sum, whole: now.whole, drift: o.Drift, by: by, gone: now.gone}
		if o.Correct && o.After == 0 {
			v.suspect(s.place, time.Now().Add(lookLatest)) // the correction may get lost
		}
	}
}

func orSomebody(manager string) string {
	if manager == "" {
		return "somebody"
	}
	return manager
}
