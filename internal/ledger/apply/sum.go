package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// owned is the part of an object that the ledger owns, without the status.
func owned(object *unstructured.Unstructured) map[string]any {
	ours, others := ownership(entriesOf(object))
	if len(ours) == 0 {
		return map[string]any{}
	}
	part, _ := prune(object.Object, ours, others).(map[string]any)
	delete(part, "status")
	return part
}

// foreign lists the elements of the spec that others own and the ledger does not, as paths, sorted.
func foreign(object *unstructured.Unstructured) (paths []string) {
	ours, others := ownership(entriesOf(object))
	others.below("f:spec").outside(ours.below("f:spec"), "spec", &paths)
	slices.Sort(paths)
	return paths
}

// outside lists what is in a set and not in another one. If the other set has an element as a whole and this one has a
// part of it, the part was added: an element that can't be shared has no parts.
func (f fields) outside(g fields, path string, paths *[]string) {
	for element := range f {
		if element == "." {
			continue
		}
		if _, in := g[element]; in {
			f.below(element).outside(g.below(element), path+elementName(element), paths)
		} else {
			*paths = append(*paths, path+elementName(element))
		}
	}
}

// elementName is how messages call an element: ".name", "[name=http]".
func elementName(element string) string {
	if len(element) < 2 {
		return element
	}
	text := element[2:]
	switch element[:2] {
	case "f:":
		return "." + text
	case "k:":
		var key map[string]any
		if json.Unmarshal([]byte(text), &key) == nil && len(key) == 1 {
			for name, value := range key {
				return "[" + name + "=" + trimQuotes(short(value)) + "]"
			}
		}
	}
	return "[" + text + "]"
}

func trimQuotes(text string) string {
	if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
		return text[1 : n-1]
	}
	return text
}

// sum is a hash of what of an object must stay as it is (ledger.Applied.Result): the fields that the ledger owns with
// their values, its annotations among them, and of exact kinds what others own of the spec. Neither who else owns
// something nor the status counts.
func sum(object *unstructured.Unstructured, exact bool) string {
	state := map[string]any{"owned": owned(object)}
	if exact {
		state["foreign"] = foreign(object)
	}
	return hashOf(state)
}

// whole is a hash of an object without its status and the fields that change with each write.
func whole(object *unstructured.Unstructured) string {
	state := copied(object.Object)
	delete(state, "status")
	if meta, isMap := state["metadata"].(map[string]any); isMap {
		meta = copied(meta)
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

// holds tells whether an object has a content already, and all of it is the ledger's: to apply it would write nothing.
// In doubt the answer is no. Quantities may be written otherwise: the API server does that, and anybody else who
// changed one would own it.
func holds(object *unstructured.Unstructured, stated map[string]any, exact bool) bool {
	part := owned(object)
	c := comparison{lenient: true}
	c.compare("", withoutIdentity(stated), part, object.Object)
	ours, _ := ownership(entriesOf(object))
	return len(c.list) == 0 && ours.within(stated) && (!exact || len(foreign(object)) == 0)
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
