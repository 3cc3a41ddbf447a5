package proxies

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// isOurs reports whether an object is Cardea's: it belongs to the Gateway, or Cardea applied it. Labels prove nothing,
// since they are easily copied. An object that is not ours is never changed or deleted, whatever its name is.
func isOurs(o metav1.Object, p plan.ProxySpec) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(),
		func(owner metav1.OwnerReference) bool { return owner.UID == proxyUID(p) }) || isApplied(o)
}

// isApplied reports whether Cardea applied an object.
func isApplied(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == manager && f.Operation == metav1.ManagedFieldsOperationApply
	})
}

// lookupObject returns the object of this name, whoever created it, or nil. Objects with Cardea's labels are known from
// the watch; for others it asks the API server.
func (d *Deployer) lookupObject(ctx context.Context, k kind, namespace, name string) (metav1.Object, error) {
	if object := d.findObject(k, namespace, name); object != nil {
		return object, nil
	}
	object, err := d.objects.Resource(k.groupVersionResource()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return object, nil
}

// nameConflict is the message about the first object that is not Cardea's and has the name of one to be created, or
// that the Secret of proxies that read files may not be read; "" if there is none.
func (d *Deployer) nameConflict(ctx context.Context, ref model.ObjectRef, p plan.ProxySpec) (string, error) {
	for k := range kindsEnd {
		if k.isFiles() && !p.DataPlane.ReadsFiles {
			continue
		}
		object, err := d.lookupObject(ctx, k, ref.Namespace(), k.objectName(p))
		if k == fileSecret && apierrors.IsForbidden(err) {
			return kinds.SuggestPermission(err.Error(), kinds.SecretFilesRole, ref.Namespace()), nil
		}
		if err != nil {
			return "", fmt.Errorf("look for %s %s: %w", k, k.objectName(p), err)
		}
		if object != nil && !isOurs(object, p) {
			return fmt.Sprintf("%s %s exists and does not belong to Cardea; nothing is created or changed for this Gateway "+
				"until it is deleted", k, k.objectName(p)), nil
		}
	}
	return "", nil
}
