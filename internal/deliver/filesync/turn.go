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

// turn takes what changed in the graph.
func (w *Writer) turn(ctx context.Context) {
	gone := w.targetsNow()
	w.follow()
	w.cfg.Graph.View(func(v flow.View) {
		for _, t := range w.targets {
			if t.resources == nil {
				t.resources, t.due = w.gather(v, t.gateway), w.cfg.Now()
			}
		}
		for _, f := range w.resources {
			for c := range f.Changes(v) {
				w.change(c)
			}
		}
	})
	for _, t := range gone {
		w.release(ctx, t)
	}
}

// targetsNow follows which Gateways have files. It returns those that have none any more.
func (w *Writer) targetsNow() (gone []*target) {
	w.cfg.Graph.View(func(v flow.View) {
		for c := range w.gateways.Changes(v) {
			t, files := w.targets[c.Key], w.cfg.Files(c.Value.DataPlane)
			switch {
			case !c.Deleted && !c.Value.Accepted && t != nil: // its proxies still read files
			case (c.Deleted || files == nil) && t != nil:
				delete(w.targets, c.Key)
				gone = append(gone, t)
			case !c.Deleted && files != nil && t == nil:
				w.targets[c.Key] = &target{gateway: c.Key, files: files, due: w.cfg.Now()}
			}
		}
	})
	return gone
}

// follow begins to follow resources when the first Gateway has files: until then this costs nothing.
func (w *Writer) follow() {
	if len(w.targets) == 0 || w.resources != nil {
		return
	}
	for _, c := range w.cfg.Resources {
		w.resources = append(w.resources, flow.Follow(c))
	}
}

// gather finds a Gateway's resources among all. It is done once for each Gateway that gets files.
func (w *Writer) gather(v flow.View, gateway model.ObjectRef) map[resource.Name]resource.Resource {
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

func (w *Writer) change(c flow.Change[resource.Key, resource.Resource]) {
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

// release ends that a Gateway's proxies read files. Those that still run close their ports; for the requests that they
// still have, all else stays.
func (w *Writer) release(ctx context.Context, t *target) {
	w.untell(t)
	maps.DeleteFunc(t.resources, func(n resource.Name, _ resource.Resource) bool { return n.Type == resource.Listener })
	closed, err := t.files.Next(w.cfg.Store.Start(t.gateway), dataplane.FileSet{}, t.resources)
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
	resources map[resource.Name]resource.Resource // that its proxies should have; nil: not gathered yet

	read     bool // written is what is written
	written  dataplane.FileSet
	at       time.Time                            // when that changed last
	wrote    [dataplane.FilesRemove + 1]time.Time // when a step of a stage was written last
	snapshot *snapshot
	due      time.Time // when to look again at what is to be written

	failing bool // the store did not take the last step
	pause   time.Duration

	told rows
	said resource.Written
}

// snapshot is what the next switch writes. Edits come while it waits for what it names to be read; if it took them
// along it would have to wait for what these name, and so on.
type snapshot struct {
	resources map[resource.Name]resource.Resource // listeners and route tables
	due       time.Time
}
