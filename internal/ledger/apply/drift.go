package apply

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/ledger"
)

// driftCandidate is an object that may have drifted: as the ledger has it, and as it is.
type driftCandidate struct {
	objectKey
	status    ledger.Status
	inCluster ledger.InCluster
	target    ledger.Target
	live      *unstructured.Unstructured // nil: it is not there
}

// compareObject compares an object with what was applied last, and does what its target wants of drift.
func (v *watcher) compareObject(ctx context.Context, s driftCandidate) {
	now := s.takeSnapshot()
	v.mu.Lock()
	i := v.items[s.objectKey]
	if i == nil || i.activeClaims > 0 {
		v.mu.Unlock()
		return
	}
	before := i.lastSeen
	i.lastSeen = &now
	i.writtenVersion = "" // what was read is newer than all that was written before
	verdict := i.judgeSnapshot()
	// A generation that is not the one that was recorded may be another worker's, which records it any moment.
	unsure := now.generation != i.applied.Generation && now.generation != 0 &&
		(before == nil || before.version != now.version || before.generation != now.generation)
	v.mu.Unlock()
	switch {
	case verdict != suspicious:
		v.mu.Lock()
		v.index.reviewObject(s.objectKey)
		v.mu.Unlock()
	case unsure:
		v.reviewLater([]objectKey{s.objectKey}, reviewRetry)
	default:
		v.reportDrift(ctx, s, now)
	}
}

// takeSnapshot is the object as it was read.
func (s driftCandidate) takeSnapshot() snapshot {
	if s.live == nil {
		return snapshot{gone: true}
	}
	return snapshot{uid: string(s.live.GetUID()), version: s.live.GetResourceVersion(), generation: generationOf(s.live),
		id: s.live.GetAnnotations()[ledger.ObjectAnnotation], deleting: s.live.GetDeletionTimestamp() != nil,
		sum: resultHash(s.live, exactKind(s.kind)), whole: hashWhole(s.live)}
}

// reportDrift tells the ledger of drift, and has it corrected, or adopts it.
func (v *watcher) reportDrift(ctx context.Context, s driftCandidate, now snapshot) {
	words, by := v.describeDrift(ctx, s)
	o := ledger.Observation{Object: s.status.ID, UID: now.uid, ResourceVersion: now.version, Generation: now.generation,
		Result: now.sum, Drift: words, By: by}
	did := "reported"
	switch {
	case now.id == s.status.ID && now.generation > s.status.Newest:
		// Nobody else wrote that: the ledger did, before it was restored. The claim finds out whether it counts.
		o.Correct = true
	case s.target.Drift == ledger.DriftReport:
	case s.target.Drift == ledger.DriftAdopt:
		if v.worker.cfg.Adopt != nil && !now.gone && now.uid == s.inCluster.Applied.UID {
			did = "adopted"
			if err := v.adoptChanges(ctx, s, by); err != nil {
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
		if i := v.items[s.objectKey]; i != nil {
			pause := i.corrections.noteCorrection(by, v.worker.cfg.Now())
			if o.After = int(pause / time.Second); o.After > 0 {
				o.Drift += fmt.Sprintf("; %s undoes the ledger's writes again and again, so they are made less often",
					orSomebody(by))
			}
		}
		v.mu.Unlock()
	}
	if !v.reportObservation(ctx, o) {
		v.reviewLater([]objectKey{s.objectKey}, reviewRetry)
		return
	}
	v.worker.cfg.Metrics.drift.WithLabelValues(v.worker.cfg.Cluster, did).Inc()
	v.worker.cfg.Log.Info("an object was changed in the cluster", "object", s.status.Key.String(), "what", words, "by", by,
		"did", did)
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.items[s.objectKey]; i != nil {
		i.reported = reportedState{uid: now.uid, sum: now.sum, whole: now.whole, drift: o.Drift, by: by, gone: now.gone}
		if o.Correct && o.After == 0 {
			v.addSuspect(s.objectKey, time.Now().Add(reviewLatest)) // the correction may get lost
		}
	}
}

func orSomebody(manager string) string {
	if manager == "" {
		return "somebody"
	}
	return manager
}
