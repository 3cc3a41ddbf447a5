package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// listPage is how many objects ListObjects asks for at a time.
const listPage = 500

// ListObjects calls each with the objects of a kind that a cluster has, to be put into a ledger: those of a namespace;
// "": all. It leaves out objects that a controller made for another one, since they go with it (ownerReferences). There
// is no error if the cluster has no such kind.
func ListObjects(ctx context.Context, config *rest.Config, kind schema.GroupKind, namespace string,
	each func(object map[string]any) error) error {
	a, err := newAPI(config, dryRunTimeout)
	if err != nil {
		return err
	}
	from, err := a.resourceClient(ctx, kindScope{kind, namespace})
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	options := metav1.ListOptions{Limit: listPage}
	for {
		page, err := from.List(ctx, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", kind, err)
		}
		for i := range page.Items {
			if metav1.GetControllerOf(&page.Items[i]) != nil || page.Items[i].GetDeletionTimestamp() != nil {
				continue
			}
			if err := each(page.Items[i].Object); err != nil {
				return err
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
