package proxies

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// renderValid renders a Gateway's objects by its DataPlanes, if everything that they set can be applied. If not, the
// mistakes are in the outcome, and the objects are rendered by the DataPlanes that were applied last, with the current
// ports and labels: a DataPlane is applied as a whole or not at all. If these are not known (after a start), the
// Deployment, the Service and the files that pods start with stay as they are. The returned proxy is the one that was
// rendered.
func (d *Deployer) renderValid(
	ctx context.Context, ref model.ObjectRef, p plan.ProxySpec, bundle []byte, o *outcome,
) (renderedObjects, plan.ProxySpec, error) {
	want, err := d.renderGateway(ref, p, bundle)
	if err != nil {
		return want, p, err
	}
	d.mu.Lock()
	good := d.ensureRecord(ref).good
	d.mu.Unlock()
	if good == nil || good.DataPlane != p.DataPlane || !reflect.DeepEqual(good.Parameters, p.Parameters) {
		if err := d.dryRun(ctx, ref, p, want, o); err != nil {
			return want, p, err
		}
	}
	switch {
	case !p.Accepted: // what it asks for is not what to go back to
	case len(o.mistakes) == 0:
		d.mu.Lock()
		d.ensureRecord(ref).good = &p
		d.mu.Unlock()
	case good == nil:
		p.DataPlane = d.runningDataPlane(ref, p)
		want, err = d.renderGateway(ref, p, bundle)
		delete(want.texts, deployment)
		delete(want.texts, service)
	default:
		p.Parameters, p.DataPlane = good.Parameters, good.DataPlane
		want, err = d.renderGateway(ref, p, bundle)
	}
	if _, whole := want.texts[deployment]; !whole && err == nil {
		err = d.keepStartFiles(ctx, ref, p, bundle, want)
	}
	return want, p, err
}

// keepStartFiles makes the ConfigMap one that differs from the existing one in its CA certificates alone: the pods
// are started from its files, which belong to the Deployment.
func (d *Deployer) keepStartFiles(
	ctx context.Context, ref model.ObjectRef, p plan.ProxySpec, bundle []byte, want renderedObjects,
) error {
	is := &corev1.ConfigMap{}
	err := d.get(ctx, configMap, ref.Namespace(), p.Name, is)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %s %s: %w", configMap, p.Name, err)
	}
	files := map[string][]byte{}
	for name, text := range is.Data {
		files[name] = []byte(text)
	}
	want.texts[configMap], err = json.Marshal((&renderer{ref: ref, proxy: p}).renderConfigMap(files, bundle))
	return err
}

// runningDataPlane is the data plane of the proxies that run for a Gateway; that of the plan if there are none.
func (d *Deployer) runningDataPlane(ref model.ObjectRef, p plan.ProxySpec) model.DataPlane {
	if is := d.deploymentOf(ref, p); is != nil && is.Annotations[dataPlaneAnnotation] != "" {
		return d.cfg.Dialect(is.Annotations[dataPlaneAnnotation]).Name
	}
	return p.DataPlane
}

func (d *Deployer) renderGateway(ref model.ObjectRef, p plan.ProxySpec, bundle []byte) (renderedObjects, error) {
	settings := d.cfg.Settings
	settings.key = d.cfg.Key()
	want, err := renderObjects(ref, p, settings, d.cfg.Dialect(p.DataPlane.Name).Pod, bundle)
	if err != nil {
		return want, fmt.Errorf("render: %w", err)
	}
	return want, nil
}

// dryRun records what is wrong with the objects that DataPlanes set: what can't be rendered, and what the API server
// would refuse. A text that it has refused is not sent again soon, unless the object has changed.
func (d *Deployer) dryRun(
	ctx context.Context, ref model.ObjectRef, p plan.ProxySpec, want renderedObjects, o *outcome,
) error {
	for _, k := range []kind{deployment, service} {
		if problem := want.invalid[k]; problem != nil {
			o.mistakes = append(o.mistakes, problem.Error())
		}
	}
	if len(o.mistakes) > 0 || len(p.Parameters) == 0 {
		return nil
	}
	for _, k := range []kind{deployment, service} {
		text, wanted := want.texts[k]
		if !wanted {
			continue
		}
		sum, now := want.digestOf(k), time.Now()
		d.mu.Lock()
		before := d.ensureRecord(ref).objects[k]
		d.mu.Unlock()
		if again := before.refusalWait(sum, now); again > 0 {
			o.addMistake(before.refusedWhy, again)
			continue
		}
		switch _, err := d.patchObject(ctx, k, ref.Namespace(), p.Name, text, metav1.DryRunAll); {
		case err == nil, apierrors.IsForbidden(err), apierrors.IsNotFound(err): // reported when it is applied
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			d.recordInvalid(ref, p, k, sum, err, now, o)
		default:
			return fmt.Errorf("%s %s/%s: %w", k, ref.Namespace(), p.Name, err)
		}
	}
	return nil
}
