package apply

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Manager is the field manager of all writes.
const Manager = "cardea-ledger"

// fields is a set of fields as managedFields has them (FieldsV1): "f:name" is a field of a map, `k:{"name":"x"}`,
// `v:"x"` or "i:0" an item of a list; below it, {} is all of it, and "." the map or item itself.
type fields map[string]any

// entry is a field manager of an object, with the fields that it owns.
type entry struct {
	manager, version, subresource string
	apply                         bool
	fields                        fields
}

// ours tells whether the entry is of the ledger.
func (e entry) ours() bool { return e.manager == Manager && e.subresource == "" }

// entriesOf reads the managedFields of an object.
func entriesOf(object metav1.Object) (list []entry) {
	for _, m := range object.GetManagedFields() {
		e := entry{manager: m.Manager, version: m.APIVersion, subresource: m.Subresource, fields: fields{},
			apply: m.Operation == metav1.ManagedFieldsOperationApply}
		if m.FieldsV1 != nil {
			_ = json.Unmarshal(m.FieldsV1.Raw, &e.fields) // the API server checked it; a broken one owns nothing
		}
		list = append(list, e)
	}
	return list
}

// ownership returns the fields that the ledger owns, and those that others own, without the status.
func ownership(list []entry) (ours, others fields) {
	ours, others = fields{}, fields{}
	for _, e := range list {
		switch {
		case e.ours():
			ours = ours.union(e.fields)
		case e.subresource != "status":
			others = others.union(e.fields)
		}
	}
	return ours, others
}

// below is the set under one element; nil if there is none.
func (f fields) below(element string) fields {
	switch sub := f[element].(type) {
	case map[string]any:
		return sub
	case fields:
		return sub
	}
	return nil
}

// union has what is in one of both.
func (f fields) union(g fields) fields {
	if len(f) == 0 || len(g) == 0 {
		both := fields{}
		for _, set := range []fields{f, g} {
			for element, sub := range set {
				both[element] = sub
			}
		}
		return both
	}
	both := fields{}
	for element, sub := range f {
		both[element] = sub
	}
	for element := range g {
		_, there := both[element]
		if !there {
			both[element] = g[element]
			continue
		}
		a, b := f.below(element), g.below(element)
		joined := a.union(b)
		if (len(a) == 0) != (len(b) == 0) {
			joined["."] = map[string]any{} // one of them has all of it
		}
		both[element] = map[string]any(joined)
	}
	return both
}

// prune is the part of a value that is in the set. If the set has a value as a whole, it is kept without the parts that
// only others own.
func prune(value any, set, others fields) any {
	if len(set) == 0 {
		return subtract(value, others)
	}
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, child := range value {
			if sub, in := set["f:"+name]; in && sub != nil {
				kept[name] = prune(child, set.below("f:"+name), others.below("f:"+name))
			}
		}
		return kept
	case []any:
		kept := []any{}
		for i, item := range value {
			if element, in := set.element(item, i); in {
				kept = append(kept, prune(item, set.below(element), others.below(element)))
			}
		}
		return kept
	}
	return value
}

// subtract takes from a value what is in the set below it.
func subtract(value any, set fields) any {
	if len(set) == 0 {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, child := range value {
			element := "f:" + name
			if _, in := set[element]; !in {
				kept[name] = child
			} else if sub := set.below(element); len(sub) > 0 {
				kept[name] = subtract(child, sub)
			}
		}
		return kept
	case []any:
		kept := []any{}
		for i, item := range value {
			element, in := set.element(item, i)
			if !in {
				kept = append(kept, item)
			} else if sub := set.below(element); len(sub) > 0 {
				kept = append(kept, subtract(item, sub))
			}
		}
		return kept
	}
	return value
}

// element finds the element of a set that an item of a list is.
func (f fields) element(item any, index int) (string, bool) {
	for element := range f {
		if isItem(element, item, index, false) {
			return element, true
		}
	}
	return "", false
}

// isItem tells whether an item of a list is the one that an element names. A lenient answer takes an item that states
// only some of the key's fields: the API server adds defaults.
func isItem(element string, item any, index int, lenient bool) bool {
	kind, text, _ := strings.Cut(element, ":")
	var named any
	if json.Unmarshal([]byte(text), &named) != nil {
		return false
	}
	switch kind {
	case "k":
		object, isMap := item.(map[string]any)
		key, _ := named.(map[string]any)
		if !isMap {
			return false
		}
		for name, value := range key {
			has, there := object[name]
			if !there && lenient {
				continue
			}
			if !there || !same(has, value) {
				return false
			}
		}
		return true
	case "v":
		return same(item, named)
	case "i":
		return same(int64(index), named)
	}
	return false
}

// same compares values of JSON; numbers by what they mean.
func same(a, b any) bool {
	x, isNumber := number(a)
	y, isToo := number(b)
	if isNumber && isToo {
		return x == y
	}
	return reflect.DeepEqual(a, b)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// within tells whether every field of the set is in a value that somebody stated.
func (f fields) within(value any) bool {
	for element := range f {
		if element == "." {
			continue
		}
		child, there := find(value, element)
		if !there || !f.below(element).within(child) {
			return false
		}
	}
	return true
}

// find is what an element of a set names in a value.
func find(value any, element string) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		name, isField := strings.CutPrefix(element, "f:")
		child, there := value[name]
		return child, there && isField
	case []any:
		for _, lenient := range []bool{false, true} {
			for i, item := range value {
				if isItem(element, item, i, lenient) {
					return item, true
				}
			}
		}
	}
	return nil, false
}
