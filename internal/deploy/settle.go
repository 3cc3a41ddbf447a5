package deploy

import (
	"context"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// settle renders a Gateway's objects by its DataPlanes, if all that they make can be applied. Else what is wrong is in
// the outcome, and the objects are those of the DataPlanes that were applied last, with the ports and labels of now: no
// half of a DataPlane applies. Where nobody remembers these, after a start, Deployment and Service stay as they are.
// The proxy is the one whose objects they are.
func (d *Deployer) settle(
	ctx context.Context, ref model.ObjectRef, p plan.Proxy, bundle []byte, o *outcome,
) (objects, plan.Proxy, error) {
	want, err := d.render(ref, p, bundle)
	if err != nil {
		return want, p, err
	}
	d.mu.Lock()
	good := d.record(ref).good
	d.mu.Unlock()
	if good == nil || !reflect.DeepEqual(*good, p.Parameters) {
		if err := d.trial(ctx, ref, p, want, o); err != nil {
			return want, p, err
		}
	}
	switch {
	case len(o.wrong) == 0:
		d.mu.Lock()
		d.record(ref).good = &p.Parameters
		d.mu.Unlock()
	case good == nil:
		delete(want.texts, deployment)
		delete(want.texts, service)
	default:
		p.Parameters = *good
		want, err = d.render(ref, p, bundle)
	}
	return want, p, err
}

func (d *Deployer) render(ref model.ObjectRef, p plan.Proxy, bundle []byte) (objects, error) {
	want, err := render(ref, p, d.cfg.Settings, d.cfg.Pod(p.DataPlane), bundle)
	if err != nil {
		return want, fmt.Errorf("render: %w", err)
	}
	return want, nil
}

// trial notes what is wrong with what DataPlanes make: what can't be rendered, and what the API server says that it
// would refuse. What it has refused is not asked again soon, unless the object has changed.
func (d *Deployer) trial(ctx context.Context, ref model.ObjectRef, p plan.Proxy, want objects, o *outcome) error {
	for _, k := range []kind{deployment, service} {
		if problem := want.invalid[k]; problem != nil {
			o.wrong = append(o.wrong, problem.Error())
		}
	}
	if len(o.wrong) > 0 || len(p.Parameters) == 0 {
		return nil
	}
	for _, k := range []kind{deployment, service} {
		text, wanted := want.texts[k]
		if !wanted {
			continue
		}
		sum, now := want.digest(k), time.Now()
		d.mu.Lock()
		before := d.record(ref).objects[k]
		d.mu.Unlock()
		if again := before.refusal(sum, now); again > 0 {
			o.mistake(before.why, again)
			continue
		}
		switch _, err := d.patch(ctx, k, ref.Namespace(), p.Name, text, metav1.DryRunAll); {
		case err == nil, apierrors.IsForbidden(err), apierrors.IsNotFound(err): // that is said when it is applied
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			d.refuse(ref, p, k, sum, err, now, o)
		default:
			return fmt.Errorf("%s %s/%s: %w", k, ref.Namespace(), p.Name, err)
		}
	}
	return nil
}
