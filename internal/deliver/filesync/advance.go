package filesync

import (
	"cmp"
	"context"
	"maps"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/resource"
)

// After a failure the store is tried again, after longer and longer pauses.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 30 * time.Second
)

// farFuture is when nothing is to be done before something changes.
func (w *Writer) farFuture() time.Time { return w.cfg.Now().Add(24 * time.Hour) }

// advanceTarget writes all steps of a Gateway that need not wait, and finds when the next one is due.
func (w *Writer) advanceTarget(ctx context.Context, t *target) {
	if t.resources == nil {
		t.due = w.farFuture() // they come with a turn
		return
	}
	if err := w.readFiles(ctx, t); err != nil {
		w.recordFailure(ctx, t, "read", err)
		return
	}
	for {
		step, due, err := w.nextStep(t)
		if err != nil {
			w.cfg.Log.Error("can't make the files of proxies", "gateway", t.gateway.String(), "error", err)
			t.due = w.farFuture()
			return
		}
		// If the configuration is too large, only files that are written already are brought up to date: endpoints and
		// certificates.
		updates := step.Stage == dataplane.FilesUpdate && t.files.TooLarge(step.Files) == ""
		if t.tooLarge(step) != "" && !updates {
			t.due, t.failing = w.farFuture(), false
			return
		}
		if now := w.cfg.Now(); step.Stage == dataplane.FilesCurrent || now.Before(due) {
			t.due, t.failing, t.pause = due, false, 0
			return
		}
		if err := w.writeStep(ctx, t, step); err != nil {
			w.recordFailure(ctx, t, "write", err)
			return
		}
	}
}

// readFiles reads what is written, unless that is known.
func (w *Writer) readFiles(ctx context.Context, t *target) (err error) {
	if t.isRead {
		return nil
	}
	known := t.changedAt
	if t.written, t.changedAt, err = w.cfg.Store.Read(ctx, t.gateway); err != nil {
		return err
	}
	if t.isRead = true; t.changedAt.Equal(known) {
		return nil // nothing was written since
	}
	for i := range t.writtenAt { // what was written when is not known any more
		t.writtenAt[i] = t.changedAt
	}
	return nil
}

// nextStep finds the next step, and when it is due, and tells what is written.
func (w *Writer) nextStep(t *target) (step dataplane.FileStep, due time.Time, err error) {
	start := w.cfg.Store.Folders(t.gateway)
	if step, err = t.files.NextStep(start, t.written, t.resources); err != nil {
		return step, due, err
	}
	w.reportWritten(t, step.Missing, t.tooLarge(step))
	if step.Stage == dataplane.FilesCurrent || step.Stage == dataplane.FilesRemove {
		t.snapshot = nil // what was to be switched was edited back
	}
	if due = w.dueAt(t, step.Stage); step.Stage != dataplane.FilesSwitch {
		return step, due, nil
	}
	if t.snapshot == nil {
		t.snapshot = &snapshot{t.switched(), due}
	}
	if due = t.snapshot.due; w.cfg.Now().Before(due) {
		return step, due, nil
	}
	all := maps.Clone(t.resources)
	maps.DeleteFunc(all, func(n resource.Name, _ resource.Resource) bool { return t.isSwitched(n) })
	maps.Copy(all, t.snapshot.resources)
	t.snapshot = nil
	missing := step.Missing
	if step, err = t.files.NextStep(start, t.written, all); err != nil {
		return step, due, err
	}
	if step.Stage != dataplane.FilesSwitch {
		return w.nextStep(t) // the snapshot is what is written; what came after it is not
	}
	if why := t.tooLarge(step); why != "" {
		w.reportWritten(t, missing, why)
	}
	return step, due, nil
}

// tooLarge says why what the proxies should have can't be written; "" if it can.
func (t *target) tooLarge(step dataplane.FileStep) string {
	if step.Stage == dataplane.FilesCurrent {
		return ""
	}
	return cmp.Or(t.files.TooLarge(step.Whole), t.files.TooLarge(step.Files))
}

// dueAt is when a step of a stage may be written: when every proxy has read the last step of the stages before it.
func (w *Writer) dueAt(t *target, stage dataplane.FileStage) time.Time {
	after := func(last time.Time) time.Time {
		if last.IsZero() {
			return last
		}
		return last.Add(w.cfg.Sync)
	}
	switch stage {
	case dataplane.FilesCurrent:
		return w.farFuture()
	case dataplane.FilesAdd:
		return after(t.writtenAt[dataplane.FilesAddKeys])
	case dataplane.FilesSwitch:
		return after(laterTime(t.writtenAt[dataplane.FilesAddKeys], t.writtenAt[dataplane.FilesAdd]))
	case dataplane.FilesRemove:
		return after(t.writtenAt[dataplane.FilesSwitch])
	}
	return time.Time{} // at once
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isSwitched tells whether a resource changes in the stage FilesSwitch.
func (t *target) isSwitched(n resource.Name) bool {
	return t.types.Has(n.Type, resource.Listening) || t.types.Has(n.Type, resource.Routing)
}

func (t *target) switched() map[resource.Name]resource.Resource {
	list := map[resource.Name]resource.Resource{}
	for n, r := range t.resources {
		if t.isSwitched(n) {
			list[n] = r
		}
	}
	return list
}

// writeStep writes a step.
func (w *Writer) writeStep(ctx context.Context, t *target, step dataplane.FileStep) error {
	now := w.cfg.Now()
	if err := w.cfg.Store.Write(ctx, t.gateway, step.Files, now); err != nil {
		return err
	}
	t.written, t.changedAt, t.writtenAt[step.Stage] = step.Files, now, now
	t.failing, t.pause = false, 0
	w.metrics.recordWrite(step)
	w.cfg.Log.Info("proxies' files written", "gateway", t.gateway.String(), "to", w.cfg.Store.Location(t.gateway),
		"stage", step.Stage.String(), "files", step.Files.FileCount(), "bytes", step.Files.LargestFolderSize())
	return nil
}

// recordFailure notes that the store failed, and when it is tried again. It is logged once, until it works again.
func (w *Writer) recordFailure(ctx context.Context, t *target, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	w.metrics.failures.Inc()
	if !t.failing {
		w.cfg.Log.Error("can't "+what+" the files of proxies; it is tried again", "gateway", t.gateway.String(),
			"where", w.cfg.Store.Location(t.gateway), "error", err)
	}
	t.failing, t.isRead = true, false // the store may have taken it all the same
	t.pause = min(max(2*t.pause, firstPause), lastPause)
	t.due = w.cfg.Now().Add(t.pause)
}
