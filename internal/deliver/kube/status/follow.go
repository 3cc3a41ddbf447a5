package status

import (
	"context"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// followReports tells the queue what is wanted, until ctx ends.
func (t *term) followReports(ctx context.Context) {
	followers := make([]plan.ReportFollower, len(t.kinds))
	for i, k := range t.kinds {
		followers[i] = k.reports.Follow()
		defer followers[i].Stop()
	}
	type news struct {
		kind *statusKind
		ref  model.ObjectRef
		read func() (report, error)
	}
	first := true
	for range t.cfg.Graph.Watch(ctx) {
		var all []news
		t.cfg.Graph.View(func(v flow.View) {
			for i, f := range followers {
				for ref, r := range f.Changes(v) {
					all = append(all, news{t.kinds[i], ref, deferReport(r.Report, !r.Deleted)})
				}
			}
		})
		for _, n := range all {
			w, err := t.computeDesired(n.kind, n.read)
			if err != nil {
				t.cfg.Log.Error("a status can't be written", "object", n.ref, "error", err)
				continue
			}
			t.queue.setWanted(n.ref, w.digest)
		}
		if first {
			t.queue.startPlacing()
			first = false
		}
	}
}

// desiredStatus is a report, ready to be written.
type desiredStatus struct {
	report
	parts  statusParts
	digest digest
}

func (t *term) computeDesired(k *statusKind, read func() (report, error)) (w desiredStatus, err error) {
	if w.report, err = read(); err != nil || w.status == nil {
		return w, err
	}
	if w.parts, err = k.statusLayout.parseReport(w.status, t.cfg.controller); err != nil {
		return w, err
	}
	w.digest = k.statusLayout.digestParts(w.parts)
	w.digest.uid, w.digest.tentative = hashUID(w.uid), w.tentative
	w.digest.hasOurs = w.digest.hasOurs || !k.statusLayout.Controlled
	return w, nil
}
