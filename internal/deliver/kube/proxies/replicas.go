package proxies

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// replicasManager is the field manager that owns the number of replicas after a DataPlane has stopped setting it, until
// another client scales.
const replicasManager = manager + "-replicas"

// replicasField is the name of the field in managed fields; no other field of a Deployment has this name.
const replicasField = `"f:replicas"`

// keepReplicas keeps the number of replicas when no DataPlane sets it any more. The API server removes a field that
// nobody owns, and the default is one replica. So scaler becomes the owner first; an autoscaler, or somebody who scales
// by hand, takes it over from there.
func (d *Deployer) keepReplicas(ctx context.Context, ref model.ObjectRef, p plan.ProxySpec, text []byte) error {
	var want struct{ Spec struct{ Replicas *int32 } }
	if err := json.Unmarshal(text, &want); err != nil {
		return err
	}
	is := d.deploymentOf(ref, p)
	if want.Spec.Replicas != nil || is == nil || is.Spec.Replicas == nil {
		return nil
	}
	if !slices.ContainsFunc(is.ManagedFields,
		func(f metav1.ManagedFieldsEntry) bool { return f.Manager == manager && f.FieldsV1 != nil }) {
		return nil
	}
	only, err := json.Marshal(map[string]any{
		"apiVersion": appsv1.SchemeGroupVersion.String(), "kind": deployment.String(),
		"metadata": map[string]any{"name": p.Name, "namespace": ref.Namespace()},
		"spec":     map[string]any{"replicas": *is.Spec.Replicas},
	})
	if err != nil {
		return err
	}
	// Not forced: if the number has changed meanwhile, this is a conflict, and is retried.
	_, err = d.objects.Resource(deployment.groupVersionResource()).Namespace(ref.Namespace()).
		Patch(ctx, p.Name, types.ApplyPatchType, only, metav1.PatchOptions{FieldManager: replicasManager})
	if err != nil {
		return fmt.Errorf("keep the number of replicas: %w", err)
	}
	return nil
}
