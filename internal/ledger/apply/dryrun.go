package apply

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/ledger"
)

// dryRunTimeout is how long one API server may take for a dry run.
const dryRunTimeout = 10 * time.Second

// DryRun asks the API server of a cluster whether it would take an object. An error of code Invalid says that it would
// not; any other one, that it could not be asked.
func DryRun(ctx context.Context, config *rest.Config, cluster string, object map[string]any) error {
	a, err := newAPI(config, dryRunTimeout)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: object}
	name := ledger.Key{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}.String()
	invalid := func(field, format string, args ...any) error {
		return &ledger.Error{Code: ledger.Invalid, Object: name, Field: field, Message: fmt.Sprintf(format, args...)}
	}
	kind := u.GroupVersionKind()
	mapping, err := a.findMapping(ctx, kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err) && a.lacksKind(ctx, kind.GroupKind()):
		return invalid("kind", "cluster %s has no kind %s of %s", cluster, kind.Kind, u.GetAPIVersion())
	case err != nil:
		return err
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace && u.GetNamespace() == "":
		return invalid("metadata.namespace", "is missing: objects of this kind are in namespaces")
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace && u.GetNamespace() != "":
		return invalid("metadata.namespace", "objects of this kind are in no namespace")
	}
	o := a.clientFor(mapping, u.GetNamespace(), u.GetName())
	ctx, cancel := context.WithTimeout(ctx, dryRunTimeout)
	defer cancel()
	_, err = o.resource.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{
		FieldManager: ledger.FieldManager, Force: true, DryRun: []string{metav1.DryRunAll},
	})
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return invalid("", "cluster %s rejects it: %v", cluster, err)
	case apierrors.IsNotFound(err): // its Namespace: it may be in the same change
		return nil
	}
	return err
}
