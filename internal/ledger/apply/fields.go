package apply

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Manager is the field manager of all writes.
const Manager = "cardea-ledger"

// managerEntry is a field manager of an object, with the fields that it owns.
type managerEntry struct {
	manager, version, subresource string
	apply                         bool
	fields                        *fieldpath.Set
}

// isOurs tells whether the entry is of the ledger.
func (e managerEntry) isOurs() bool { return e.manager == Manager && e.subresource == "" }

// entriesOf reads the managedFields of an object.
func entriesOf(object metav1.Object) (list []managerEntry) {
	for _, m := range object.GetManagedFields() {
		list = append(list, managerEntry{manager: m.Manager, version: m.APIVersion, subresource: m.Subresource,
			fields: readFields(m.FieldsV1), apply: m.Operation == metav1.ManagedFieldsOperationApply})
	}
	return list
}

// readFields reads a set of fields. The API server checked it: a broken one owns nothing.
func readFields(raw *metav1.FieldsV1) *fieldpath.Set {
	set := &fieldpath.Set{}
	if raw == nil || set.FromJSON(bytes.NewReader(raw.Raw)) != nil {
		return &fieldpath.Set{}
	}
	return set
}

// splitOwnership returns the fields that the ledger owns, and those that others own, without the status.
func splitOwnership(list []managerEntry) (ours, others *fieldpath.Set) {
	ours, others = &fieldpath.Set{}, &fieldpath.Set{}
	for _, e := range list {
		switch {
		case e.isOurs():
			ours = ours.Union(e.fields)
		case e.subresource != "status":
			others = others.Union(e.fields)
		}
	}
	return ours, others
}

// listElements lists the elements at the top of a set: those that are in it as a whole, and those with parts in it.
func listElements(set *fieldpath.Set) []fieldpath.PathElement {
	list := slices.Collect(set.Members.All())
	for element := range set.Children.All() {
		if !set.Members.Has(element) {
			list = append(list, element)
		}
	}
	return list
}

func hasElement(set *fieldpath.Set, element fieldpath.PathElement) bool {
	_, hasParts := set.Children.Get(element)
	return hasParts || set.Members.Has(element)
}

// fieldsBelow is the set under one element. If it is empty, all of the element is in the set, or nothing.
func fieldsBelow(set *fieldpath.Set, element fieldpath.PathElement) *fieldpath.Set {
	if sub, found := set.Children.Get(element); found {
		return sub
	}
	return &fieldpath.Set{}
}

// selectFields is the part of a value that is in the set. If the set has a value as a whole, it is kept without the
// parts that only others own.
func selectFields(of any, set, others *fieldpath.Set) any {
	if set.Empty() {
		return subtractFields(of, others)
	}
	switch of := of.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, child := range of {
			if field := fieldpath.FieldNameElement(name); hasElement(set, field) {
				kept[name] = selectFields(child, fieldsBelow(set, field), fieldsBelow(others, field))
			}
		}
		return kept
	case []any:
		kept := []any{}
		for i, item := range of {
			if element, in := elementOf(set, item, i); in {
				kept = append(kept, selectFields(item, fieldsBelow(set, element), fieldsBelow(others, element)))
			}
		}
		return kept
	}
	return of
}

// subtractFields takes from a value what is in the set below it.
func subtractFields(of any, set *fieldpath.Set) any {
	if set.Empty() {
		return of
	}
	switch of := of.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, child := range of {
			field := fieldpath.FieldNameElement(name)
			if !hasElement(set, field) {
				kept[name] = child
			} else if sub := fieldsBelow(set, field); !sub.Empty() {
				kept[name] = subtractFields(child, sub)
			}
		}
		return kept
	case []any:
		kept := []any{}
		for i, item := range of {
			element, in := elementOf(set, item, i)
			if !in {
				kept = append(kept, item)
			} else if sub := fieldsBelow(set, element); !sub.Empty() {
				kept = append(kept, subtractFields(item, sub))
			}
		}
		return kept
	}
	return of
}

// elementOf finds the element of a set that an item of a list is.
func elementOf(set *fieldpath.Set, item any, index int) (found fieldpath.PathElement, in bool) {
	for _, element := range listElements(set) {
		if isItem(element, item, index, false) {
			return element, true
		}
	}
	return found, false
}

// isItem tells whether an item of a list is the one that an element names. A lenient answer takes an item that states
// only some of the key's fields: the API server adds defaults.
func isItem(element fieldpath.PathElement, item any, index int, lenient bool) bool {
	switch {
	case element.Key != nil:
		object, isMap := item.(map[string]any)
		return isMap && !slices.ContainsFunc(*element.Key, func(field value.Field) bool {
			stated, found := object[field.Name]
			return found && !equalJSON(stated, field.Value.Unstructured()) || !found && !lenient
		})
	case element.Value != nil:
		return equalJSON(item, (*element.Value).Unstructured())
	case element.Index != nil:
		return index == *element.Index
	}
	return false
}

// equalJSON compares values of JSON; numbers by what they mean.
func equalJSON(a, b any) bool {
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}

// isWithin tells whether every field of a set is in a value that somebody stated.
func isWithin(set *fieldpath.Set, stated any) bool {
	for _, element := range listElements(set) {
		child, found := findElement(stated, element)
		if !found || !isWithin(fieldsBelow(set, element), child) {
			return false
		}
	}
	return true
}

// findElement is what an element of a set names in a value.
func findElement(of any, element fieldpath.PathElement) (any, bool) {
	switch of := of.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return nil, false
		}
		child, found := of[*element.FieldName]
		return child, found
	case []any:
		for _, lenient := range []bool{false, true} {
			for i, item := range of {
				if isItem(element, item, i, lenient) {
					return item, true
				}
			}
		}
	}
	return nil, false
}
