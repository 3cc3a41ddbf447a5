package explain

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/resource"
)

// historyReader brings what turns changed into a history. It may look at several turns at once. One goroutine uses it.
type historyReader struct {
	*Explainer
	sources []kind.Follower
	acks    *flow.Follower[resource.AckKey, uint64]
}

func (e *Explainer) newReader() *historyReader {
	w := e.config.World
	r := &historyReader{Explainer: e, acks: flow.Follow(w.Feedback.Acked.Collection())}
	for _, k := range w.Sources.Catalog.All() {
		if k.Owners == nil { // else nobody edits it, and it changes all the time
			r.sources = append(r.sources, w.Sources.KindSource(k.Kind).Follow())
		}
	}
	return r
}

func (r *historyReader) stop() {
	r.acks.Stop()
	for _, s := range r.sources {
		s.Stop()
	}
}

// readChanges notes what changed since the last look.
func (r *historyReader) readChanges() {
	w := r.config.World
	var news []func()
	var rev flow.Rev
	w.Graph.View(func(v flow.View) {
		rev = v.Rev()
		for _, s := range r.sources {
			for _, ref := range s.ChangedRefs(v) {
				o, found := w.Sources.KindSource(ref.Kind()).Get(v, ref)
				rev := w.Sources.KindSource(ref.Kind()).ChangedAt(v, ref)
				news = append(news, func() {
					if turn, known := w.Graph.TurnOf(rev); known && found {
						r.history.noteRead(ref, o.Meta, turn)
					}
				})
			}
		}
		for change := range r.acks.Changes(v) {
			rev := flow.ChangedAt(v, w.Feedback.Acked.Collection(), change.Key)
			news = append(news, func() {
				if turn, known := w.Graph.TurnOf(rev); known && !change.Deleted && r.config.Sent != nil {
					r.history.noteAcknowledged(change.Key, turn.At, r.config.Sent)
				}
			})
		}
	})
	for _, note := range news {
		note()
	}
	r.history.noteLooked(rev)
}
