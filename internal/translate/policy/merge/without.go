package merge

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// WithoutElements is value without the elements that keyed has, too, in lists that merge by keys. So keyed alone says
// what such an element is. Neither value is changed.
func (t *Type) WithoutElements(value, keyed any) any { return t.removeElements(t.root, value, keyed) }

func (t *Type) removeElements(ref schema.TypeRef, value, keyed any) any {
	atom, _ := t.schema.Resolve(ref)
	switch v := value.(type) {
	case map[string]any:
		k, is := keyed.(map[string]any)
		if !is || !mapMerges(atom.Map) {
			return value
		}
		left := make(map[string]any, len(v))
		for name, child := range v {
			left[name] = t.removeElements(fieldType(atom.Map, name), child, k[name])
		}
		return left
	case []any:
		k, is := keyed.([]any)
		if !is || !listMerges(atom.List) || len(atom.List.Keys) == 0 {
			return value
		}
		return slices.DeleteFunc(slices.Clone(v), func(element any) bool {
			return slices.ContainsFunc(k, func(other any) bool { return compareKeys(atom.List.Keys, element, other) == 0 })
		})
	}
	return value
}
