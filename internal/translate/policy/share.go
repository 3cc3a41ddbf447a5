package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// sharedValue is what counts of a feature for listeners that can have one value only.
type sharedValue struct {
	Stated     []statements
	Findings   []Finding // what does not count since another listener has another value, and what counts for others too
	Superseded []SupersededField
}

// joinShared joins what listeners state that share a value. All of them state it at one level; but where two of them
// would have other values of a field, nothing counts of the younger policy.
func (q portScope) joinShared(f *Feature, listeners []model.ListenerKey, ofPort bool) (s sharedValue) {
	without := map[model.ObjectRef]bool{}
	stated := func(listeners []model.ListenerKey) []statements {
		return q.statementsFor(f, listeners, ofPort, without)
	}
	if len(listeners) < 2 || noStatements(stated(listeners)[2:]) {
		s.Stated = stated(listeners)
		return s
	}
	ages := q.policyAges()
	for {
		each := make([]Effective, len(listeners))
		for i := range listeners {
			each[i] = mergeStatements(f.Name, f.merge, stated(listeners[i:i+1]))
		}
		c, found := firstClash(each, ages)
		if !found {
			s.Stated = stated(listeners)
			s.Findings = append(s.Findings, q.alsoFor(f, f.describePart(ofPort), listeners, each, s.Stated)...)
			return s
		}
		without[c.Younger.Policy] = true
		s.Findings = append(s.Findings, c.toFinding(f.Name, f.describePart(ofPort), q.port.Key, listeners))
		s.Superseded = append(s.Superseded, SupersededField{c.Path, c.Value, c.Younger, c.Older})
	}
}

// statementsFor are the statements for some listeners, without those of some policies.
func (q portScope) statementsFor(
	f *Feature, listeners []model.ListenerKey, ofPort bool, without map[model.ObjectRef]bool,
) []statements {
	gather := func(m attachedPolicies, level Level, at func(section string) bool) statements {
		s := statements{Level: level}
		for k, p := range m.All() {
			again := slices.ContainsFunc(s.List, func(o statement) bool { return o.Policy == k.Policy })
			if again || without[k.Policy] || !at(k.Target.Section) || !p.statesFeature(f.Name) {
				continue
			}
			own := p.newStatement(k.Policy, level, f.Name)
			if own.JSON = f.specPart(own.JSON, ofPort); own.JSON != "" || own.Disable {
				s.List = append(s.List, own)
			}
		}
		return s
	}
	whole := func(section string) bool { return section == "" }
	return []statements{
		gather(q.class, LevelClass, whole), gather(q.own, LevelGateway, whole),
		gather(q.own, LevelListener, func(section string) bool {
			return section != "" && slices.ContainsFunc(listeners, func(l model.ListenerKey) bool {
				return l.Level(q.port.Key.Gateway) == section
			})
		}),
	}
}

// specPart is what of a spec belongs to ports, or to listeners; "": nothing.
func (f *Feature) specPart(spec string, ofPort bool) string {
	if spec == "" || len(f.PortFields) == 0 {
		return spec
	}
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(spec), &all) != nil {
		return spec // the feature's Read refuses it
	}
	maps.DeleteFunc(all, func(field string, _ json.RawMessage) bool {
		return slices.Contains(f.PortFields, field) != ofPort
	})
	if len(all) == 0 {
		return ""
	}
	return encodeJSON(all)
}

// describePart is what of a feature belongs to ports, or to listeners, as users are told it.
func (f *Feature) describePart(ofPort bool) string {
	name := strings.TrimPrefix(fieldOf(f.Name, ""), "spec.")
	if !ofPort || len(f.PortFields) == 0 {
		return name
	}
	return name + "." + strings.Join(f.PortFields, ", "+name+".")
}

// policyAges orders the policies that state something: the older is the lesser.
func (q portScope) policyAges() map[model.ObjectRef]string {
	ages := map[model.ObjectRef]string{}
	for _, m := range []attachedPolicies{q.class, q.own} {
		for k, p := range m.All() {
			ages[k.Policy] = p.Age + " " + k.Policy.NamespacedName()
		}
	}
	return ages
}

// valueClash is a field that would have different values at two listeners.
type valueClash struct {
	Path, Value    string // the younger policy's; "": it has the field off
	Younger, Older Source
	At, With       int // their listeners, by index
}

// listenerValue is what a listener has of a field, and who states it; Value "": it is off.
type listenerValue struct {
	Value string
	From  Source
}

// firstClash finds the clash with the youngest policy.
func firstClash(each []Effective, ages map[model.ObjectRef]string) (first valueClash, found bool) {
	fields := make([]map[string]listenerValue, len(each))
	for i, e := range each {
		fields[i] = map[string]listenerValue{}
		for _, l := range e.Superseded {
			fields[i][l.Path] = listenerValue{From: l.By}
		}
		for _, f := range e.Fields {
			fields[i][f.Path] = listenerValue{f.Value, f.From}
		}
	}
	for i := range fields {
		for j := range fields {
			for path, a := range fields[i] {
				b, stated := fields[j][path]
				if !stated || a.Value == b.Value || ages[a.From.Policy] <= ages[b.From.Policy] {
					continue
				}
				c := valueClash{path, a.Value, a.From, b.From, i, j}
				if !found || c.precedes(first, ages) {
					first, found = c, true
				}
			}
		}
	}
	return first, found
}

// precedes orders clashes: that of the youngest policy with the oldest one first.
func (c valueClash) precedes(o valueClash, ages map[model.ObjectRef]string) bool {
	if c.Younger.Policy != o.Younger.Policy {
		return ages[c.Younger.Policy] > ages[o.Younger.Policy]
	}
	if c.Older.Policy != o.Older.Policy {
		return ages[c.Older.Policy] < ages[o.Older.Policy]
	}
	if c.Path != o.Path {
		return c.Path < o.Path
	}
	return c.At < o.At || c.At == o.At && c.With < o.With
}

func (c valueClash) toFinding(feature, what string, port model.PortKey, listeners []model.ListenerKey) Finding {
	field := strings.TrimPrefix(fieldOf(feature, c.Path), "spec.")
	return Finding{
		Policy: c.Younger.Policy, Condition: "Accepted", Reason: "Conflicted", Field: fieldOf(feature, ""),
		Message: fmt.Sprintf("listeners %[1]s and %[3]s share port %[4]d, so %[2]s must be equal: the older %[5]s wins, "+
			"and %[6]s of this policy is ignored for listener %[1]s; state the same value, or state it once for %[7]s",
			listeners[c.At].Section, field, listeners[c.With].Section, port.Number,
			c.Older.Policy, what, port.Gateway),
	}
}

// alsoFor tells policies on listeners for which others they count, too, that have nothing of their own.
func (q portScope) alsoFor(
	f *Feature, what string, listeners []model.ListenerKey, each []Effective, joint []statements,
) (list []Finding) {
	all := mergeStatements(f.Name, f.merge, joint)
	for _, s := range joint[2].List {
		var others []string
		for i, l := range listeners {
			if slices.ContainsFunc(all.Fields, func(field EffectiveField) bool {
				return field.From.Policy == s.Policy && !each[i].hasField(field)
			}) {
				others = append(others, l.Section)
			}
		}
		if len(others) > 0 {
			list = append(list, Finding{
				Policy: s.Policy, Severity: model.Warning, Field: fieldOf(f.Name, ""),
				Message: fmt.Sprintf("%s also applies to listener %s, because listeners of the same port (%d) can't have "+
					"different values",
					what, strings.Join(others, ", "), q.port.Key.Number),
			})
		}
	}
	return list
}

// hasField tells whether a field has the same value.
func (e Effective) hasField(field EffectiveField) bool {
	return slices.ContainsFunc(e.Fields, func(own EffectiveField) bool {
		return own.Path == field.Path && own.Value == field.Value
	})
}
