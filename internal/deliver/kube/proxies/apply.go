package proxies

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// apply applies an object, unless it is what was applied last and nobody has changed it since.
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
	case what.contested:
		d.cfg.Log.Warn("another client undoes repairs again and again; repairs are made less often",
			"kind", k.String(), "namespace", ref.Namespace(), "name", p.Name, "managers", others)
		d.cfg.Events(Event{Object: ref, UID: p.UID, Warning: true, Reason: "Contested",
			Message: k.String() + " " + p.Name + " is changed or deleted again and again by another client: " + others})
	case what.repaired && !there:
		d.cfg.Log.Info("created again what another client deleted", "kind", k.String(), "namespace", ref.Namespace(), "name",
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
		return d.core.Services(namespace).Patch(ctx, name, types.ApplyPatchType, text, options)
	}
	return d.objects.Resource(k.resource()).Namespace(namespace).Patch(ctx, name, types.ApplyPatchType, text, options)
}

// effect is the result of an apply.
type effect struct {
	changed   bool // the object differs from before
	repaired  bool // another client had changed it
	contested bool // from now on: another client changes it again and again
}

// remember records what was applied, and the state of the object after it.
func (d *Deployer) remember(
	ref model.ObjectRef, k kind, sum digest, before made, object metav1.Object, now time.Time,
) (what effect) {
	if object.GetDeletionTimestamp() != nil {
		d.metrics.applies.WithLabelValues(k.String(), "unchanged").Inc()
		return what // the watch reports when it is deleted; then it is created again
	}
	print, version := fingerprint(object), object.GetResourceVersion()
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &d.record(ref).objects[k]
	// The watch may be behind what was written here before.
	what.changed = print != before.seen && version != before.version
	if what.repaired = what.changed && before.text == sum && before.print != ""; what.repaired {
		what.contested = m.repair(now)
		d.metrics.repairs.WithLabelValues(k.String()).Inc()
	}
	result := "unchanged"
	if what.changed {
		result = "changed"
	}
	d.metrics.applies.WithLabelValues(k.String(), result).Inc()
	m.text, m.print, m.version, m.why = sum, print, version, ""
	m.refused, m.refusedAt = digest{}, time.Time{}
	// A change that the watch reported in the meantime may be this one, or another one.
	m.dirty = m.events != before.events && m.seen != print
	return what
}

// refuse records that the API server called an object invalid, and the reason with the field of the DataPlane that it
// comes from.
func (d *Deployer) refuse(ref model.ObjectRef, p plan.Proxy, k kind, sum digest, err error, now time.Time, o *outcome) {
	why := mergeParameters(p.Parameters).invalidFields(k, err)
	o.mistake(why, mistakeRetry)
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &d.record(ref).objects[k]
	m.refused, m.refusedSeen, m.why, m.refusedAt = sum, m.seen, why, now
}

// managers lists the field managers of an object except Cardea; there is false if the object does not exist.
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
