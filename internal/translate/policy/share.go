package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// shared is what counts of a feature for listeners that can have one value only.
type shared struct {
	Stated   []statements
	Findings []Finding // what does not count since another listener has another value, and what counts for others too
	Lost     []Lost
}

// share joins what listeners state that share a value. All of them state it at one level; but where two of them would
// have other values of a field, nothing counts of the younger policy.
func (q portScope) share(f *Feature, listeners []model.ListenerKey, ofPort bool) (s shared) {
	without := map[model.ObjectRef]bool{}
	stated := func(listeners []model.ListenerKey) []statements { return q.stated(f, listeners, ofPort, without) }
	if len(listeners) < 2 || empty(stated(listeners)[2:]) {
		s.Stated = stated(listeners)
		return s
	}
	ages := q.ages()
	for {
		each := make([]Effective, len(listeners))
		for i := range listeners {
			each[i] = effective(f.Name, f.merge, stated(listeners[i:i+1]))
		}
		c, found := firstClash(each, ages)
		if !found {
			s.Stated = stated(listeners)
			s.Findings = append(s.Findings, q.alsoFor(f, f.words(ofPort), listeners, each, s.Stated)...)
			return s
		}
		without[c.Younger.Policy] = true
		s.Findings = append(s.Findings, c.finding(f.Name, f.words(ofPort), q.port.Key, listeners))
		s.Lost = append(s.Lost, Lost{c.Path, c.Value, c.Younger, c.Older})
	}
}

// stated are the statements for some listeners, without those of some policies.
func (q portScope) stated(
	f *Feature, listeners []model.ListenerKey, ofPort bool, without map[model.ObjectRef]bool,
) []statements {
	gather := func(m members, level Level, at func(section string) bool) statements {
		s := statements{Level: level}
		for k, p := range m.All() {
			again := slices.ContainsFunc(s.List, func(o statement) bool { return o.Policy == k.Policy })
			if again || without[k.Policy] || !at(k.Target.Section) || !p.states(f.Name) {
				continue
			}
			own := p.statement(k.Policy, level, f.Name)
			if own.JSON = f.portion(own.JSON, ofPort); own.JSON != "" || own.Disable {
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
				return l.Section == section
			})
		}),
	}
}

// portion is what of a spec belongs to ports, or to listeners; "": nothing.
func (f *Feature) portion(spec string, ofPort bool) string {
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
	return encode(all)
}

// words is what of a feature belongs to ports, or to listeners, as users are told it.
func (f *Feature) words(ofPort bool) string {
	name := strings.TrimPrefix(fieldOf(f.Name, ""), "spec.")
	if !ofPort || len(f.PortFields) == 0 {
		return name
	}
	return name + "." + strings.Join(f.PortFields, ", "+name+".")
}

// ages orders the policies that state something: the older is the lesser.
func (q portScope) ages() map[model.ObjectRef]string {
	ages := map[model.ObjectRef]string{}
	for _, m := range []members{q.class, q.own} {
		for k, p := range m.All() {
			ages[k.Policy] = p.Age + " " + k.Policy.NamespacedName()
		}
	}
	return ages
}

// clash is a field that would have different values at two listeners.
type clash struct {
	Path, Value    string // the younger policy's; "": it has the field off
	Younger, Older Source
	At, With       int // their listeners, by index
}

// held is what a listener has of a field, and who states it; Value "": it is off.
type held struct {
	Value string
	From  Source
}

// firstClash finds the clash with the youngest policy.
func firstClash(each []Effective, ages map[model.ObjectRef]string) (first clash, found bool) {
	fields := make([]map[string]held, len(each))
	for i, e := range each {
		fields[i] = map[string]held{}
		for _, l := range e.Lost {
			fields[i][l.Path] = held{From: l.By}
		}
		for _, f := range e.Fields {
			fields[i][f.Path] = held{f.Value, f.From}
		}
	}
	for i := range fields {
		for j := range fields {
			for path, a := range fields[i] {
				b, stated := fields[j][path]
				if !stated || a.Value == b.Value || ages[a.From.Policy] <= ages[b.From.Policy] {
					continue
				}
				c := clash{path, a.Value, a.From, b.From, i, j}
				if !found || c.before(first, ages) {
					first, found = c, true
				}
			}
		}
	}
	return first, found
}

// before orders clashes: that of the youngest policy with the oldest one first.
func (c clash) before(o clash, ages map[model.ObjectRef]string) bool {
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

func (c clash) finding(feature, what string, port model.PortKey, listeners []model.ListenerKey) Finding {
	field := strings.TrimPrefix(fieldOf(feature, c.Path), "spec.")
	return Finding{
		Policy: c.Younger.Policy, Condition: "Accepted", Reason: "Conflicted", Field: fieldOf(feature, ""),
		Message: fmt.Sprintf("listener %s can't have another value of %s than listener %s of the same port (%d), for which "+
			"%s has one that is older, so it holds for both, and %s of this policy does not count there; state the same, or "+
			"state it once for %s", listeners[c.At].Section, field, listeners[c.With].Section, port.Number,
			c.Older.Policy, what, port.Gateway),
	}
}

// alsoFor tells policies on listeners for which others they count, too, that have nothing of their own.
func (q portScope) alsoFor(
	f *Feature, what string, listeners []model.ListenerKey, each []Effective, joint []statements,
) (list []Finding) {
	all := effective(f.Name, f.merge, joint)
	for _, s := range joint[2].List {
		var others []string
		for i, l := range listeners {
			if slices.ContainsFunc(all.Fields, func(field Field) bool {
				return field.From.Policy == s.Policy && !each[i].has(field)
			}) {
				others = append(others, l.Section)
			}
		}
		if len(others) > 0 {
			list = append(list, Finding{
				Policy: s.Policy, Severity: model.Warning, Field: fieldOf(f.Name, ""),
				Message: fmt.Sprintf("%s also holds for listener %s, which can't have another value: the port (%d) is the same",
					what, strings.Join(others, ", "), q.port.Key.Number),
			})
		}
	}
	return list
}

// has tells whether a field has the same value.
func (e Effective) has(field Field) bool {
	return slices.ContainsFunc(e.Fields, func(own Field) bool {
		return own.Path == field.Path && own.Value == field.Value
	})
}
