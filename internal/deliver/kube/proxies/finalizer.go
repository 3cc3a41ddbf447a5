package proxies

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// errBehind says that the API server has a newer state of an object than the plan.
var errBehind = errors.New("the object was deleted, or replaced by another one")

// reconcileClass keeps the finalizer of a class as long as Gateways refer to the class.
func (d *Deployer) reconcileClass(ctx context.Context, ref model.ObjectRef) error {
	d.mu.Lock()
	class, found := d.classes[ref]
	if !found {
		delete(d.records, ref)
	}
	d.mu.Unlock()
	if !found || class.Deleting && class.Used {
		return nil // it keeps the finalizer that it has
	}
	err := d.setFinalizer(ctx, classes, ref, "", gatewayv1.GatewayClassFinalizerGatewaysExist, class.Used)
	if errors.Is(err, errBehind) {
		return nil
	}
	return err
}

// setFinalizer adds or removes a finalizer of the object with that UID. The error is errBehind if a finalizer is to be
// added and there is no such object, or it is being deleted. A conflict is an error like any other.
func (d *Deployer) setFinalizer(
	ctx context.Context, resource schema.GroupVersionResource, ref model.ObjectRef, uid types.UID, name string, on bool,
) error {
	client := d.objects.Resource(resource).Namespace(ref.Namespace())
	object, err := client.Get(ctx, ref.Name(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	switch {
	case err != nil || uid != "" && object.UID != uid:
		if on {
			return errBehind
		}
		return nil
	case slices.Contains(object.Finalizers, name) == on:
		return nil
	case on && object.DeletionTimestamp != nil:
		return errBehind
	}
	finalizers := slices.DeleteFunc(slices.Clone(object.Finalizers), func(f string) bool { return f == name })
	if on {
		finalizers = append(finalizers, name)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": object.ResourceVersion, // otherwise another client's finalizer could be lost
		"finalizers":      finalizers,
	}})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, ref.Name(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}
