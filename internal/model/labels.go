package model

import (
	"cmp"
	"maps"
	"slices"
)

// Labels are an object's labels, in order of their keys. Most objects have one or none, and a map would need ten times the memory.
type Labels []Label

// Label is one of them.
type Label struct{ Key, Value string }

// LabelsOf makes Labels.
func LabelsOf(m map[string]string) Labels {
	if len(m) == 0 {
		return nil
	}
	l := make(Labels, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		l = append(l, Label{k, m[k]})
	}
	return l
}

// Get is the value of a label, "" if there is none.
func (l Labels) Get(key string) string {
	if i, found := slices.BinarySearchFunc(l, key, func(l Label, key string) int { return cmp.Compare(l.Key, key) }); found {
		return l[i].Value
	}
	return ""
}

// Map is nil if there are none.
func (l Labels) Map() map[string]string {
	if len(l) == 0 {
		return nil
	}
	m := make(map[string]string, len(l))
	for _, l := range l {
		m[l.Key] = l.Value
	}
	return m
}
