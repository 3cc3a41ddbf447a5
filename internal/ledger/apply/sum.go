package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// selectOwned is the part of an object that the ledger owns, without the status.
func selectOwned(object *unstructured.Unstructured) map[string]any {
	ours, others := splitOwnership(entriesOf(object))
	if ours.Empty() {
		return map[string]any{}
	}
	part, _ := selectFields(object.Object, ours, others).(map[string]any)
	delete(part, "status")
	return part
}

// listForeign lists the elements of the spec that others own and the ledger does not, as paths, sorted.
func listForeign(object *unstructured.Unstructured) (paths []string) {
	ours, others := splitOwnership(entriesOf(object))
	spec := fieldpath.FieldNameElement("spec")
	listOutside(fieldsBelow(others, spec), fieldsBelow(ours, spec), "spec", &paths)
	slices.Sort(paths)
	return paths
}

// listOutside lists what is in a set and not in another one. If the other set has an element as a whole and this one
// has a part of it, the part was added: an element that can't be shared has no parts.
func listOutside(set, other *fieldpath.Set, path string, paths *[]string) {
	for _, element := range listElements(set) {
		if hasElement(other, element) {
			listOutside(fieldsBelow(set, element), fieldsBelow(other, element), path+elementName(element), paths)
		} else {
			*paths = append(*paths, path+elementName(element))
		}
	}
}

// elementName is how messages call an element: ".name", "[name=http]".
func elementName(element fieldpath.PathElement) string {
	switch {
	case element.FieldName != nil:
		return "." + *element.FieldName
	case element.Key != nil && len(*element.Key) == 1:
		key := (*element.Key)[0]
		return "[" + key.Name + "=" + trimQuotes(shortJSON(key.Value.Unstructured())) + "]"
	}
	text, err := fieldpath.SerializePathElement(element)
	if err != nil {
		return "[" + element.String() + "]"
	}
	return "[" + text[2:] + "]"
}

func trimQuotes(text string) string {
	if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
		return text[1 : n-1]
	}
	return text
}

// resultHash is a hash of what of an object must stay as it is (ledger.Applied.Result): the fields that the ledger owns
// with their values, its annotations among them, and of exact kinds what others own of the spec. Neither who else owns
// something nor the status counts.
func resultHash(object *unstructured.Unstructured, exact bool) string {
	state := map[string]any{"owned": selectOwned(object)}
	if exact {
		state["foreign"] = listForeign(object)
	}
	return hashOf(state)
}

// hashWhole is a hash of an object without its status and the fields that change with each write.
func hashWhole(object *unstructured.Unstructured) string {
	state := copyMap(object.Object)
	delete(state, "status")
	if meta, isMap := state["metadata"].(map[string]any); isMap {
		meta = copyMap(meta)
		delete(meta, "resourceVersion")
		delete(meta, "managedFields")
		state["metadata"] = meta
	}
	return hashOf(state)
}

func hashOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("apply: " + err.Error()) // it was JSON
	}
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}

// hasContent tells whether an object has a content already, and all of it is the ledger's: to apply it would write
// nothing. In doubt the answer is no. Quantities may be written otherwise: the API server does that, and anybody else
// who changed one would own it.
func hasContent(object *unstructured.Unstructured, stated map[string]any, exact bool) bool {
	part := selectOwned(object)
	c := comparison{lenient: true}
	c.compare("", withoutIdentity(stated), part, object.Object)
	ours, _ := splitOwnership(entriesOf(object))
	return len(c.list) == 0 && isWithin(ours, stated) && (!exact || len(listForeign(object)) == 0)
}

// withoutIdentity takes away what no field manager owns.
func withoutIdentity(stated map[string]any) map[string]any {
	rest := map[string]any{}
	for name, value := range stated {
		switch meta, isMap := value.(map[string]any); {
		case name == "apiVersion" || name == "kind" || name == "status":
		case name == "metadata" && isMap:
			kept := map[string]any{}
			for field, v := range meta {
				if field != "name" && field != "namespace" && field != "creationTimestamp" {
					kept[field] = v
				}
			}
			rest[name] = kept
		default:
			rest[name] = value
		}
	}
	return rest
}
