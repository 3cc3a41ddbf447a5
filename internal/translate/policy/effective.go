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
	Disabled          Source
	DisabledWithOther bool // it is turned off with another feature
	Fields            []EffectiveField
	Superseded        []SupersededField
	MergeError        string // why values can't be merged; ""
}

// supersededOff is the Value of a feature that was turned off without effect, since an override states it.
const supersededOff = "off"

// EffectiveField is a field that is in force.
type EffectiveField struct {
	Path, Value string // the value as JSON
	From        Source
}

// SupersededField is a field that a source states and that is not in force.
type SupersededField struct {
	Path, Value string
	From, By    Source
}

// appliedStatement is a statement that took its turn.
type appliedStatement struct {
	Source
	disable bool
	leaves  []merge.Leaf
	held    []merge.Leaf // what others state of elements that this override states
}

// mergeStatements merges statements of all levels, from broad to narrow. Defaults go first, those of narrower levels
// over those of broader ones; then overrides, those of broader levels over those of narrower ones. Among those of a
// level the oldest counts. If an override states an element of a list that merges by keys, the whole element wins: a
// narrower policy changes no field of it, stated or not.
func mergeStatements(feature string, t *merge.Type, levels []statements) Effective {
	e := Effective{Feature: feature}
	var all []appliedStatement
	var value any
	apply := func(s statement) {
		if s.Disable {
			value, e.Disabled, e.DisabledWithOther = nil, s.Source, s.DisabledWithOther
			all = append(all, appliedStatement{Source: s.Source, disable: true})
		}
		if s.JSON == "" {
			return
		}
		stated := decodeJSON(s.JSON)
		var held []merge.Leaf
		if s.Override {
			left := t.WithoutElements(value, stated)
			held, value = droppedLeaves(t.Leaves(value), t.Leaves(left)), left
		}
		merged, err := t.Merge(value, stated)
		if err != nil {
			e.MergeError, merged = fmt.Sprintf("%s: %v", s.Source, err), stated
		}
		value = merged
		all = append(all, appliedStatement{Source: s.Source, leaves: t.Leaves(stated), held: held})
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
		e.JSON, e.Disabled = shareText(encodeJSON(value), levels), Source{}
	}
	e.recordFields(t, value, all)
	return e
}

// shareText returns the text of a statement that is equal to text, if there is one: so equal texts share memory. Mostly
// there is one statement, and its text stays as it is.
func shareText(text string, levels []statements) string {
	for _, l := range levels {
		for _, s := range l.List {
			if s.JSON == text {
				return s.JSON
			}
		}
	}
	return text
}

// droppedLeaves are the leaves of all that are not in left.
func droppedLeaves(all, left []merge.Leaf) []merge.Leaf {
	return slices.DeleteFunc(all, func(leaf merge.Leaf) bool { return slices.Contains(left, leaf) })
}

// decodeJSON reads JSON that was read before.
func decodeJSON(text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprintf("policy: %v", err))
	}
	return v
}

func encodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("policy: %v", err))
	}
	return string(b)
}

// recordFields tells of each field that was stated whether it counts, or which source counts in its place.
func (e *Effective) recordFields(t *merge.Type, value any, all []appliedStatement) {
	inForce := map[string]Source{}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].disable {
			e.recordSuperseded(all[:i], func(merge.Leaf) Source { return all[i].Source })
			off := all[i].Source
			all = all[i+1:]
			e.recordHeldOff(off, all)
			break
		}
	}
	for _, a := range all {
		for _, leaf := range slices.Concat(a.held, a.leaves) {
			inForce[leaf.Path] = a.Source
		}
	}
	for _, leaf := range t.Leaves(value) {
		e.Fields = append(e.Fields, EffectiveField{leaf.Path, leaf.JSON, inForce[leaf.Path]})
	}
	e.recordSuperseded(all, func(leaf merge.Leaf) Source { return inForce[leaf.Path] })
}

// recordHeldOff adds the source that turned the feature off without effect, since an override states the feature.
func (e *Effective) recordHeldOff(off Source, since []appliedStatement) {
	i := slices.IndexFunc(since, func(a appliedStatement) bool { return a.Override && a.Source != off })
	if i >= 0 {
		e.Superseded = append(e.Superseded, SupersededField{Value: supersededOff, From: off, By: since[i].Source})
	}
}

func (e *Effective) recordSuperseded(stated []appliedStatement, to func(merge.Leaf) Source) {
	for _, a := range stated {
		for _, leaf := range a.leaves {
			if by := to(leaf); by != a.Source {
				e.Superseded = append(e.Superseded, SupersededField{leaf.Path, leaf.JSON, a.Source, by})
			}
		}
	}
}
