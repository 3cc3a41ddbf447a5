package filesync

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
)

// ackRows are what the graph was told of the content of each resource.
type ackRows map[resource.Name]map[resource.AckKey]uint64

// reportWritten tells the graph what of a Gateway is written as it is now, and since when. A missing resource keeps the
// rows of its former content. tooLarge says why the next step can't be written; "" if it can.
func (w *Writer) reportWritten(t *target, missing []resource.Name, tooLarge string) {
	now := ackRows{}
	for n, r := range t.resources {
		now[n] = ackRowsOf(t, n, r)
	}
	for _, n := range missing {
		if now[n] = t.reportedRows[n]; now[n] == nil {
			delete(now, n)
		}
	}
	said := resource.WrittenFiles{Where: w.cfg.Store.Location(t.gateway), At: t.changedAt, TooLarge: tooLarge}
	if tooLarge != "" && t.reportedState.TooLarge != tooLarge {
		w.cfg.Log.Warn("the configuration is too large for files; proxies keep what was written", "gateway",
			t.gateway.String(), "why", tooLarge)
	}
	gone, fresh := now.diffRows(t.reportedRows)
	if len(gone)+len(fresh) > 0 || said != t.reportedState {
		w.cfg.Graph.Apply("files", func(b *flow.Batch) {
			for _, k := range gone {
				w.cfg.Feedback.InFiles.Delete(b, k)
			}
			for k, hash := range fresh {
				w.cfg.Feedback.InFiles.Set(b, k, hash)
			}
			w.cfg.Feedback.Written.Set(b, t.gateway, said)
		})
	}
	t.reportedRows, t.reportedState = now, said
}

// diffRows are what differs from older rows.
func (r ackRows) diffRows(old ackRows) (gone []resource.AckKey, fresh map[resource.AckKey]uint64) {
	fresh = map[resource.AckKey]uint64{}
	for n, list := range old {
		for k := range list {
			if _, still := r[n][k]; !still {
				gone = append(gone, k)
			}
		}
	}
	for n, list := range r {
		for k, hash := range list {
			if before, known := old[n][k]; !known || before != hash {
				fresh[k] = hash
			}
		}
	}
	return gone, fresh
}

// ackRowsOf are the rows of a resource that is written.
func ackRowsOf(t *target, n resource.Name, r resource.Resource) map[resource.AckKey]uint64 {
	in := resource.Key{Gateway: t.gateway, Type: n.Type, Name: n.Name}
	list := map[resource.AckKey]uint64{}
	if t.types.Has(n.Type, resource.Routing) {
		list[resource.TableAckKey(in)] = 0
	}
	for _, p := range r.Parts {
		for _, f := range p.Fragments {
			if !f.Refused {
				list[resource.AckKey{Resource: in, Origin: f.Origin, Variant: f.Variant}] = f.Hash
			}
		}
	}
	return list
}

// retractReport takes back all that was told of a Gateway.
func (w *Writer) retractReport(t *target) {
	w.cfg.Graph.Apply("files", func(b *flow.Batch) {
		for _, list := range t.reportedRows {
			for k := range list {
				w.cfg.Feedback.InFiles.Delete(b, k)
			}
		}
		w.cfg.Feedback.Written.Delete(b, t.gateway)
	})
}
