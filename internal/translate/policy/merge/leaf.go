package merge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// Leaf is a field that merges as a whole: who states it last states all of it.
type Leaf struct {
	Path string // "timeouts.request", "providers[corp].jwks"; "": the whole value
	JSON string
}

// Leaves are the fields that a value states, by their paths. An empty value that merges (an object without fields, an
// element with nothing but its key) is a leaf until something below it is stated. The keys of an element are in its
// path and are no leaves.
func (t *Type) Leaves(value any) []Leaf {
	var list []Leaf
	if value != nil {
		t.collectLeaves(t.root, value, "", nil, &list)
	}
	slices.SortFunc(list, func(a, b Leaf) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// collectLeaves adds those of a value; keys are the fields of it that are in its path.
func (t *Type) collectLeaves(ref schema.TypeRef, v any, path string, keys []string, list *[]Leaf) {
	atom, _ := t.schema.Resolve(ref)
	before := len(*list)
	switch v := v.(type) {
	case map[string]any:
		if !mapMerges(atom.Map) {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains(keys, name) {
				continue
			}
			at := joinPath(path, name)
			if _, known := atom.Map.FindField(name); !known {
				at = path + "[" + name + "]"
			}
			t.collectLeaves(fieldType(atom.Map, name), v[name], at, nil, list)
		}
	case []any:
		if !listMerges(atom.List) {
			break
		}
		for _, element := range v {
			at := path + "[" + keyOf(atom.List.Keys, element) + "]"
			t.collectLeaves(atom.List.ElementType, element, at, atom.List.Keys, list)
		}
	}
	if len(*list) == before {
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("merge: a value that JSON has not: %v", err))
		}
		*list = append(*list, Leaf{path, string(text)})
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// keyOf is an element as its path names it: the values of its keys, or the value itself if the list is a set.
func keyOf(keys []string, element any) string {
	if len(keys) == 0 {
		return formatScalar(element)
	}
	fields, _ := element.(map[string]any)
	words := make([]string, 0, len(keys))
	for _, key := range keys {
		words = append(words, formatScalar(fields[key]))
	}
	return strings.Join(words, ",")
}

func formatScalar(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, _ := json.Marshal(v)
	return string(text)
}
