package apply

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	meta, _ := object.Object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	taken, mine := fields{}, -1
	var kept []any
	for _, item := range list {
		e, _ := item.(map[string]any)
		set, _ := e["fieldsV1"].(map[string]any)
		switch {
		case e["manager"] == Manager && e["operation"] == "Apply" && e["subresource"] == nil:
			mine = len(kept)
		case e["subresource"] == "status":
		case set["f:spec"] != nil:
			taken = taken.union(fields{"f:spec": set["f:spec"]})
			rest := map[string]any{}
			for element, sub := range set {
				if element != "f:spec" {
					rest[element] = sub
				}
			}
			if len(rest) == 0 {
				continue
			}
			e = copied(e)
			e["fieldsV1"] = rest
			item = e
		}
		kept = append(kept, item)
	}
	if mine < 0 {
		mine = len(kept)
		kept = append(kept, map[string]any{"manager": Manager, "operation": "Apply", "apiVersion": object.GetAPIVersion(),
			"fieldsType": "FieldsV1", "fieldsV1": map[string]any{}})
	}
	e := copied(kept[mine].(map[string]any))
	set, _ := e["fieldsV1"].(map[string]any)
	e["fieldsV1"] = map[string]any(fields(set).union(taken))
	kept[mine] = e
	return replaceMeta(object, map[string]any{"managedFields": kept})
}

// release is a JSON patch that takes the ledger's marks and ownership from an object, which stays as it is.
func release(object *unstructured.Unstructured) ([]byte, error) {
	meta, _ := object.Object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	kept := []any{}
	for _, item := range list {
		if e, _ := item.(map[string]any); e["manager"] != Manager {
			kept = append(kept, item)
		}
	}
	if len(kept) == 0 {
		kept = append(kept, map[string]any{}) // how a client says: nobody owns anything
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

func copied(m map[string]any) map[string]any {
	c := map[string]any{}
	for name, value := range m {
		c[name] = value
	}
	return c
}
