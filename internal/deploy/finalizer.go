package deploy

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

	"cardea.dev/cardea/internal/model"
)

// errBehind says that the API server knows more of an object than the plan does.
var errBehind = errors.New("the object is gone, or another one")

// reconcileClass keeps a class as long as Gateways name it.
func (d *Deployer) reconcileClass(ctx context.Context, ref model.ObjectRef) error {
	d.mu.Lock()
	class, found := d.classes[ref]
	if !found {
		delete(d.records, ref)
	}
	d.mu.Unlock()
	if !found || class.Deleting && class.Used {
		return nil // what it has, it keeps
	}
	err := d.setFinalizer(ctx, classes, ref, "", gatewayv1.GatewayClassFinalizerGatewaysExist, class.Used)
	if errors.Is(err, errBehind) {
		return nil
	}
	return err
}

// setFinalizer adds or removes a finalizer, of the object with that UID if there is one. The error is errBehind if
// there is no such object to add it to, or it is being deleted. A conflict is an error as any other.
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
		"resourceVersion": object.ResourceVersion, // or else somebody else's finalizer may be lost
		"finalizers":      finalizers,
	}})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, ref.Name(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}
