package apply

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// exactKind tells whether nobody but the ledger may own anything of a kind's spec. Their controllers write to the
// status only, and their lists are merged: what somebody adds would stay for ever.
func exactKind(kind schema.GroupKind) bool {
	return kind.Group == "gateway.networking.k8s.io" || kind.Group == "gateway.networking.x-k8s.io" ||
		kind.Group == "cardea.dev" || strings.HasSuffix(kind.Group, ".cardea.dev")
}

// takeOver is a JSON patch that makes the ledger the owner of what others own of an object's spec, so that the next
// apply removes what it does not state. It fails with a conflict if the object is another version by then.
func takeOver(object *unstructured.Unstructured) ([]byte, error) {
	spec := fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	ours := metav1.ManagedFieldsEntry{Manager: Manager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: object.GetAPIVersion(), FieldsType: "FieldsV1"}
	owned := &fieldpath.Set{}
	var kept []metav1.ManagedFieldsEntry
	for _, e := range object.GetManagedFields() {
		fields := readFields(e.FieldsV1)
		others := fields.RecursiveDifference(spec)
		switch {
		case e.Manager == Manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "":
			ours, owned = e, owned.Union(fields)
			continue
		case e.Subresource != "status" && !others.Equals(fields):
			owned = owned.Union(fields.Difference(others))
			if others.Empty() {
				continue
			}
			text, err := others.ToJSON()
			if err != nil {
				return nil, err
			}
			e.FieldsV1 = &metav1.FieldsV1{Raw: text}
		}
		kept = append(kept, e)
	}
	text, err := owned.ToJSON()
	if err != nil {
		return nil, err
	}
	ours.FieldsV1 = &metav1.FieldsV1{Raw: text}
	return replaceMeta(object, map[string]any{"managedFields": append(kept, ours)})
}

// releasePatch is a JSON patch that takes the ledger's marks and ownership from an object, which stays as it is.
func releasePatch(object *unstructured.Unstructured) ([]byte, error) {
	kept := slices.DeleteFunc(object.GetManagedFields(),
		func(e metav1.ManagedFieldsEntry) bool { return e.Manager == Manager })
	if len(kept) == 0 {
		kept = []metav1.ManagedFieldsEntry{{}} // how a client says: nobody owns anything
	}
	notes := map[string]any{}
	for name, value := range object.GetAnnotations() {
		if !isMark(name) {
			notes[name] = value
		}
	}
	return replaceMeta(object, map[string]any{"managedFields": kept, "annotations": notes})
}

func replaceMeta(object *unstructured.Unstructured, values map[string]any) ([]byte, error) {
	patch := []map[string]any{{"op": "replace", "path": "/metadata/resourceVersion", "value": object.GetResourceVersion()}}
	for name, value := range values {
		patch = append(patch, map[string]any{"op": "add", "path": "/metadata/" + name, "value": value})
	}
	return json.Marshal(patch)
}

func copyMap(m map[string]any) map[string]any {
	c := map[string]any{}
	for name, value := range m {
		c[name] = value
	}
	return c
}
