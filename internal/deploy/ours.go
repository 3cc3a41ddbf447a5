package deploy

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// ours tells whether an object was made here: it belongs to the Gateway, or was applied by Cardea. Labels say nothing,
// for they are copied easily. What is not ours is never changed and never deleted, whatever its name is.
func ours(o metav1.Object, p plan.Proxy) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(),
		func(owner metav1.OwnerReference) bool { return owner.UID == uid(p) }) || applied(o)
}

// applied tells whether Cardea applied an object.
func applied(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == manager && f.Operation == metav1.ManagedFieldsOperationApply
	})
}

// lookup is an object that has the name of one that is made, whoever made it, or nil. The watch knows those with
// Cardea's labels; of another one, the API server is asked.
func (d *Deployer) lookup(ctx context.Context, k kind, namespace, name string) (metav1.Object, error) {
	if object := d.find(k, namespace, name); object != nil {
		return object, nil
	}
	object, err := d.objects.Resource(k.resource()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return object, nil
}

// foreigner is what is said of the first object that is somebody else's and has the name of one that is to be made; ""
// if there is none.
func (d *Deployer) foreigner(ctx context.Context, ref model.ObjectRef, p plan.Proxy) (string, error) {
	for k := range kindsEnd {
		object, err := d.lookup(ctx, k, ref.Namespace(), p.Name)
		if err != nil {
			return "", fmt.Errorf("look for %s %s: %w", k, p.Name, err)
		}
		if object != nil && !ours(object, p) {
			return fmt.Sprintf("%s %s is there already, and not Cardea's: it is left alone, and nothing is made or changed "+
				"for this Gateway "+
				"until it is deleted", k, p.Name), nil
		}
	}
	return "", nil
}
