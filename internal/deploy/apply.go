package deploy

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// apply applies an object, if it is another one than was applied last or somebody changed it.
func (d *Deployer) apply(
	ctx context.Context, ref model.ObjectRef, p plan.Proxy, k kind, want objects, o *outcome,
) error {
	text, sum, now := want.texts[k], want.digest(k), time.Now()
	d.mu.Lock()
	before := d.record(ref).objects[k]
	d.mu.Unlock()
	same := before.text == sum && before.print != ""
	switch {
	case same && !before.dirty:
		return nil
	case before.refusal(sum, now) > 0:
		o.mistake(before.why, before.refusal(sum, now))
		return nil
	case same:
		if wait := before.pause(now); wait > 0 {
			o.lookAfter(wait)
			return nil
		}
	}
	others, there := d.managers(k, ref.Namespace(), p.Name)
	if k == deployment {
		if err := d.keepReplicas(ctx, ref, p, text); err != nil {
			return err
		}
	}
	object, err := d.patch(ctx, k, ref.Namespace(), p.Name, text)
	if err != nil {
		d.metrics.applies.WithLabelValues(k.String(), "failed").Inc()
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			d.refuse(ref, p, k, sum, err, now, o)
			return nil
		}
		return err
	}
	switch what := d.remember(ref, k, sum, before, object, now); {
	case what.fight:
		d.cfg.Log.Warn("somebody undoes what is repaired; it is repaired less often from now on",
			"kind", k.String(), "namespace", ref.Namespace(), "name", p.Name, "managers", others)
		d.cfg.Events(Event{Object: ref, UID: p.UID, Warning: true, Reason: "Contested",
			Message: k.String() + " " + p.Name + " is changed or deleted again and again by somebody else: " + others})
	case what.repaired && !there:
		d.cfg.Log.Info("made again what somebody had deleted", "kind", k.String(), "namespace", ref.Namespace(), "name",
			p.Name)
	case what.repaired:
		d.cfg.Log.Info("repaired", "kind", k.String(), "namespace", ref.Namespace(), "name", p.Name, "managers", others)
	case what.changed && !same:
		o.changed = append(o.changed, k.String())
	}
	return nil
}

func (d *Deployer) patch(
	ctx context.Context, k kind, namespace, name string, text []byte, dryRun ...string,
) (metav1.Object, error) {
	force := true
	options := metav1.PatchOptions{FieldManager: manager, Force: &force, DryRun: dryRun}
	if k == service {
		return d.services.Services(namespace).Patch(ctx, name, types.ApplyPatchType, text, options)
	}
	return d.objects.Resource(k.resource()).Namespace(namespace).Patch(ctx, name, types.ApplyPatchType, text, options)
}

// effect is what came of an apply.
type effect struct {
	changed  bool // the object is not what it was
	repaired bool // somebody else had changed it
	fight    bool // and does so again and again, from now on
}

// remember remembers what was applied, and that the object is like this now.
func (d *Deployer) remember(
	ref model.ObjectRef, k kind, sum digest, before made, object metav1.Object, now time.Time,
) (what effect) {
	if object.GetDeletionTimestamp() != nil {
		d.metrics.applies.WithLabelValues(k.String(), "unchanged").Inc()
		return what // the watch tells when it is gone; then it is made anew
	}
	print, version := fingerprint(object), object.GetResourceVersion()
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &d.record(ref).objects[k]
	// The watch may be behind what was written here before.
	what.changed = print != before.seen && version != before.version
	if what.repaired = what.changed && before.text == sum && before.print != ""; what.repaired {
		what.fight = m.repair(now)
		d.metrics.repairs.WithLabelValues(k.String()).Inc()
	}
	result := "unchanged"
	if what.changed {
		result = "changed"
	}
	d.metrics.applies.WithLabelValues(k.String(), result).Inc()
	m.text, m.print, m.version, m.why = sum, print, version, ""
	m.refused, m.refusedAt = digest{}, time.Time{}
	// What the watch told in the meantime may be this change, or another one's.
	m.dirty = m.events != before.events && m.seen != print
	return what
}

// refuse remembers that the API server called an object invalid, and why: by the field of the DataPlane that makes it
// so.
func (d *Deployer) refuse(ref model.ObjectRef, p plan.Proxy, k kind, sum digest, err error, now time.Time, o *outcome) {
	why := mergeParameters(p.Parameters).blame(k, err)
	o.mistake(why, mistakeRetry)
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &d.record(ref).objects[k]
	m.refused, m.refusedSeen, m.why, m.refusedAt = sum, m.seen, why, now
}

// managers are those who have a hand in an object, but for Cardea, if the object is there.
func (d *Deployer) managers(k kind, namespace, name string) (list string, there bool) {
	object := d.find(k, namespace, name)
	if object == nil {
		return "", false
	}
	var names []string
	for _, f := range object.GetManagedFields() {
		if f.Manager != manager && f.Manager != scaler {
			names = append(names, f.Manager)
		}
	}
	return strings.Join(names, ", "), true
}
