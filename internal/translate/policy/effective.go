package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/translate/policy/merge"
)

// Effective is what counts of a feature somewhere.
type Effective struct {
	Feature string
	JSON    string // the merged spec; "": the feature is not in force
	// Disabled is who turned the feature off, if nothing is in force.
	Disabled Source
	With     bool // it is turned off with another feature
	Fields   []Field
	Lost     []Lost
	Wrong    string // why values can't be merged; ""
}

// lostOff is the Value of a feature that was turned off without effect, since an override states it.
const lostOff = "off"

// Field is a field that is in force.
type Field struct {
	Path, Value string // the value as JSON
	From        Source
}

// Lost is a field that a source states and that is not in force.
type Lost struct {
	Path, Value string
	From, By    Source
}

// applied is a statement that took its turn.
type applied struct {
	Source
	disable bool
	leaves  []merge.Leaf
	held    []merge.Leaf // what others state of elements that this override states
}

// effective merges statements of all levels, from broad to narrow. Defaults go first, those of narrower levels over
// those of broader ones; then overrides, those of broader levels over those of narrower ones. Among those of a level
// the oldest counts. If an override states an element of a list that merges by keys, the whole element wins: a narrower
// policy changes no field of it, stated or not.
func effective(feature string, t *merge.Type, levels []statements) Effective {
	e := Effective{Feature: feature}
	var all []applied
	var value any
	apply := func(s statement) {
		if s.Disable {
			value, e.Disabled, e.With = nil, s.Source, s.With
			all = append(all, applied{Source: s.Source, disable: true})
		}
		if s.JSON == "" {
			return
		}
		stated := decode(s.JSON)
		var held []merge.Leaf
		if s.Override {
			left := t.Without(value, stated)
			held, value = gone(t.Leaves(value), t.Leaves(left)), left
		}
		merged, err := t.Merge(value, stated)
		if err != nil {
			e.Wrong, merged = fmt.Sprintf("%s: %v", s.Source, err), stated
		}
		value = merged
		all = append(all, applied{Source: s.Source, leaves: t.Leaves(stated), held: held})
	}
	for _, l := range levels {
		for i := len(l.List) - 1; i >= 0; i-- {
			if !l.List[i].Override {
				apply(l.List[i])
			}
		}
	}
	for j := len(levels) - 1; j >= 0; j-- {
		for i := len(levels[j].List) - 1; i >= 0; i-- {
			if levels[j].List[i].Override {
				apply(levels[j].List[i])
			}
		}
	}
	if value != nil {
		e.JSON, e.Disabled = once(encode(value), levels), Source{}
	}
	e.account(t, value, all)
	return e
}

// once returns the text of a statement that is equal to text, if there is one: so equal texts share memory. Mostly
// there is one statement, and its text stays as it is.
func once(text string, levels []statements) string {
	for _, l := range levels {
		for _, s := range l.List {
			if s.JSON == text {
				return s.JSON
			}
		}
	}
	return text
}

// gone are the leaves of all that are not in left.
func gone(all, left []merge.Leaf) []merge.Leaf {
	return slices.DeleteFunc(all, func(leaf merge.Leaf) bool { return slices.Contains(left, leaf) })
}

// decode reads JSON that was read before.
func decode(text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprintf("policy: %v", err))
	}
	return v
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("policy: %v", err))
	}
	return string(b)
}

// account tells of each field that was stated whether it counts, or which source counts in its place.
func (e *Effective) account(t *merge.Type, value any, all []applied) {
	inForce := map[string]Source{}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].disable {
			e.lose(all[:i], func(merge.Leaf) Source { return all[i].Source })
			off := all[i].Source
			all = all[i+1:]
			e.held(off, all)
			break
		}
	}
	for _, a := range all {
		for _, leaf := range slices.Concat(a.held, a.leaves) {
			inForce[leaf.Path] = a.Source
		}
	}
	for _, leaf := range t.Leaves(value) {
		e.Fields = append(e.Fields, Field{leaf.Path, leaf.JSON, inForce[leaf.Path]})
	}
	e.lose(all, func(leaf merge.Leaf) Source { return inForce[leaf.Path] })
}

// held adds the source that turned the feature off without effect, since an override states the feature.
func (e *Effective) held(off Source, since []applied) {
	i := slices.IndexFunc(since, func(a applied) bool { return a.Override && a.Source != off })
	if i >= 0 {
		e.Lost = append(e.Lost, Lost{Value: lostOff, From: off, By: since[i].Source})
	}
}

func (e *Effective) lose(stated []applied, to func(merge.Leaf) Source) {
	for _, a := range stated {
		for _, leaf := range a.leaves {
			if by := to(leaf); by != a.Source {
				e.Lost = append(e.Lost, Lost{leaf.Path, leaf.JSON, a.Source, by})
			}
		}
	}
}
