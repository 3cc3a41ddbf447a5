package filesync

import (
	"context"
	"maps"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// applyTurn takes what changed in the graph.
func (w *Writer) applyTurn(ctx context.Context) {
	gone := w.updateTargets()
	w.followResources()
	w.cfg.Graph.View(func(v flow.View) {
		for _, t := range w.targets {
			if t.resources == nil {
				t.resources, t.due = w.gatherResources(v, t.gateway), w.cfg.Now()
			}
		}
		for _, f := range w.resources {
			for c := range f.Changes(v) {
				w.applyChange(c)
			}
		}
	})
	for _, t := range gone {
		w.releaseTarget(ctx, t)
	}
}

// updateTargets follows which Gateways have files. It returns those that have none any more.
func (w *Writer) updateTargets() (gone []*target) {
	w.cfg.Graph.View(func(v flow.View) {
		for c := range w.gateways.Changes(v) {
			t, dialect := w.targets[c.Key], w.cfg.Dialect(c.Value.DataPlane)
			switch {
			case !c.Deleted && !c.Value.Accepted && t != nil: // its proxies still read files
			case (c.Deleted || dialect.Files == nil) && t != nil:
				delete(w.targets, c.Key)
				gone = append(gone, t)
			case !c.Deleted && dialect.Files != nil && t == nil:
				w.targets[c.Key] = &target{
					gateway: c.Key, files: dialect.Files, types: dialect.Protocol.Types, due: w.cfg.Now(),
				}
			}
		}
	})
	return gone
}

// followResources begins to follow resources when the first Gateway has files: until then this costs nothing.
func (w *Writer) followResources() {
	if len(w.targets) == 0 || w.resources != nil {
		return
	}
	for _, c := range w.cfg.Resources {
		w.resources = append(w.resources, flow.Follow(c))
	}
}

// gatherResources finds a Gateway's resources among all. It is done once for each Gateway that gets files.
func (w *Writer) gatherResources(v flow.View, gateway model.ObjectRef) map[resource.Name]resource.Resource {
	all := map[resource.Name]resource.Resource{}
	for _, c := range w.cfg.Resources {
		for key, r := range flow.All(v, c) {
			if key.Gateway == gateway {
				all[resource.Name{Type: key.Type, Name: key.Name}] = r
			}
		}
	}
	return all
}

func (w *Writer) applyChange(c flow.Change[resource.Key, resource.Resource]) {
	t := w.targets[c.Key.Gateway]
	if t == nil {
		return
	}
	name := resource.Name{Type: c.Key.Type, Name: c.Key.Name}
	if c.Deleted {
		delete(t.resources, name)
	} else {
		t.resources[name] = c.Value
	}
	if !t.failing { // else it is tried again when its pause is over
		t.due = w.cfg.Now()
	}
}

// releaseTarget ends that a Gateway's proxies read files. Those that still run close their ports; for the requests that
// they still have, all else stays.
func (w *Writer) releaseTarget(ctx context.Context, t *target) {
	w.retractReport(t)
	maps.DeleteFunc(t.resources, func(n resource.Name, _ resource.Resource) bool {
		return t.types.Has(n.Type, resource.Listening)
	})
	closed, err := t.files.NextStep(w.cfg.Store.Folders(t.gateway), dataplane.FileSet{}, t.resources)
	if err == nil {
		err = w.cfg.Store.Release(ctx, t.gateway, closed.Files)
	}
	if err != nil && ctx.Err() == nil {
		w.cfg.Log.Error("can't release the files of proxies", "gateway", t.gateway.String(), "error", err)
	}
}

// target is a Gateway with proxies that read files.
type target struct {
	gateway   model.ObjectRef
	files     *dataplane.Files
	types     resource.AllTypes
	resources map[resource.Name]resource.Resource // that its proxies should have; nil: not gathered yet

	isRead    bool // written is what is written
	written   dataplane.FileSet
	changedAt time.Time                            // when that changed last
	writtenAt [dataplane.FilesRemove + 1]time.Time // when a step of a stage was written last
	snapshot  *snapshot
	due       time.Time // when to look again at what is to be written

	failing bool // the store did not take the last step
	pause   time.Duration

	reportedRows  ackRows
	reportedState resource.WrittenFiles
}

// snapshot is what the next switch writes. Edits come while it waits for what it names to be read; if it took them
// along it would have to wait for what these name, and so on.
type snapshot struct {
	resources map[resource.Name]resource.Resource // listeners and route tables
	due       time.Time
}
