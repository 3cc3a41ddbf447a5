package proxies

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// applyObject applies an object, unless it is what was applied last and nobody has changed it since.
func (d *Deployer) applyObject(
	ctx context.Context, ref model.ObjectRef, p plan.ProxySpec, k kind, want renderedObjects, o *outcome,
) error {
	text, sum, now := want.texts[k], want.digestOf(k), time.Now()
	d.mu.Lock()
	before := d.ensureRecord(ref).objects[k]
	d.mu.Unlock()
	same := before.textDigest == sum && before.fingerprint != ""
	switch {
	case same && !before.dirty:
		return nil
	case before.refusalWait(sum, now) > 0:
		o.addMistake(before.refusedWhy, before.refusalWait(sum, now))
		return nil
	case same:
		if wait := before.repairDelay(now); wait > 0 {
			o.recheckIn(wait)
			return nil
		}
	}
	others, there := d.otherManagers(k, ref.Namespace(), p.Name)
	if k == deployment {
		if err := d.keepReplicas(ctx, ref, p, text); err != nil {
			return err
		}
	}
	object, err := d.patchObject(ctx, k, ref.Namespace(), p.Name, text)
	if err != nil {
		d.metrics.applies.WithLabelValues(k.String(), "failed").Inc()
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			d.recordInvalid(ref, p, k, sum, err, now, o)
			return nil
		}
		return err
	}
	switch what := d.recordApplied(ref, k, sum, before, object, now); {
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

func (d *Deployer) patchObject(
	ctx context.Context, k kind, namespace, name string, text []byte, dryRun ...string,
) (metav1.Object, error) {
	force := true
	options := metav1.PatchOptions{FieldManager: manager, Force: &force, DryRun: dryRun}
	if k == service {
		o := &corev1.Service{}
		return o, d.core.Patch(types.ApplyPatchType).Namespace(namespace).
			Resource(k.groupVersionResource().Resource).Name(name).
			VersionedParams(&options, metav1.ParameterCodec).Body(text).Do(ctx).Into(o)
	}
	return d.objects.Resource(k.groupVersionResource()).Namespace(namespace).Patch(ctx, name, types.ApplyPatchType, text,
		options)
}

// get reads an object of a kind that is read as a whole.
func (d *Deployer) get(ctx context.Context, k kind, namespace, name string, into runtime.Object) error {
	return d.core.Get().Namespace(namespace).Resource(k.groupVersionResource().Resource).Name(name).Do(ctx).Into(into)
}

// applyResult is the result of an apply.
type applyResult struct {
	changed   bool // the object differs from before
	repaired  bool // another client had changed it
	contested bool // from now on: another client changes it again and again
}

// recordApplied records what was applied, and the state of the object after it.
func (d *Deployer) recordApplied(
	ref model.ObjectRef, k kind, sum digest, before appliedObject, object metav1.Object, now time.Time,
) (what applyResult) {
	if object.GetDeletionTimestamp() != nil {
		d.metrics.applies.WithLabelValues(k.String(), "unchanged").Inc()
		return what // the watch reports when it is deleted; then it is created again
	}
	print, version := fingerprint(object), object.GetResourceVersion()
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &d.ensureRecord(ref).objects[k]
	// The watch may be behind what was written here before.
	what.changed = print != before.seen && version != before.version
	if what.repaired = what.changed && before.textDigest == sum && before.fingerprint != ""; what.repaired {
		what.contested = m.countRepair(now)
		d.metrics.repairs.WithLabelValues(k.String()).Inc()
	}
	result := "unchanged"
	if what.changed {
		result = "changed"
	}
	d.metrics.applies.WithLabelValues(k.String(), result).Inc()
	m.textDigest, m.fingerprint, m.version, m.refusedWhy = sum, print, version, ""
	m.refused, m.refusedAt = digest{}, time.Time{}
	// A change that the watch reported in the meantime may be this one, or another one.
	m.dirty = m.events != before.events && m.seen != print
	return what
}

// recordInvalid records that the API server called an object invalid, and the reason with the field of the DataPlane
// that it comes from.
func (d *Deployer) recordInvalid(
	ref model.ObjectRef, p plan.ProxySpec, k kind, sum digest, err error, now time.Time, o *outcome,
) {
	why := mergeParameters(p.Parameters).invalidFields(k, err)
	o.addMistake(why, invalidRetryInterval)
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &d.ensureRecord(ref).objects[k]
	m.refused, m.refusedSeen, m.refusedWhy, m.refusedAt = sum, m.seen, why, now
}

// otherManagers lists the field managers of an object except Cardea; there is false if the object does not exist.
func (d *Deployer) otherManagers(k kind, namespace, name string) (list string, there bool) {
	object := d.findObject(k, namespace, name)
	if object == nil {
		return "", false
	}
	var names []string
	for _, f := range object.GetManagedFields() {
		if f.Manager != manager && f.Manager != replicasManager {
			names = append(names, f.Manager)
		}
	}
	return strings.Join(names, ", "), true
}
