package kind

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// Protection says what is closed while an object can't be read that protects what it is for (its targets). Targets are
// looked for in as much of it as can be read.
type Protection struct {
	// Protects: it tells whether an object protects, by its spec. A field that can't be read is nil. The spec is nil if
	// nothing of it can be read.
	Protects func(spec map[string]any) bool
	// Targets are the kinds of what objects can be for.
	Targets []model.Kind
	// Fields are those that a spec can have.
	Fields []string
	// TargetsOptional: an object may have no targets. It counts where others name it, and who names one that is not there
	// is refused.
	TargetsOptional bool
	// ClosesDespiteLastGood: what an object is for is closed although its last good version is there.
	ClosesDespiteLastGood bool
	// MatchesMissingKind: a document that tells no kind counts as an object of this one, too.
	MatchesMissingKind bool
	// Closed is what becomes of a target: "answers 500".
	Closed string
}

// Target is what an object is for: an object of its namespace, or several.
type Target struct {
	Kind    model.Kind
	Name    string            // "": those that have all of Labels
	Labels  map[string]string // of one without Name; none: all of the kind are meant
	Section string            // the part of each that is meant; "": all of it
}

// The fields of a spec that have targets.
const (
	targetRefs      = "targetRefs"
	targetSelectors = "targetSelectors"
)

// ClosedTargets lists what an object with this spec is for, if it protects it. It is not certain if the targets can't
// be read: then the object may be for whatever is in its namespace.
func (p *Protection) ClosedTargets(spec map[string]any) (list []Target, certain bool) {
	if !p.Protects(spec) {
		return nil, true
	}
	found, strange := false, false
	certain = spec != nil
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		switch p.nearestField(field) {
		case targetRefs:
			certain = p.readTargets(&list, spec[field], p.readTargetRef) && certain
			found = true
		case targetSelectors:
			certain = p.readTargets(&list, spec[field], p.readTargetSelector) && certain
			found = true
		case "":
			strange = true // it may be a list of targets
		}
	}
	return list, certain && (found || p.TargetsOptional && !strange)
}

// HasTargets tells whether a spec has a field of targets, whatever stands there.
func (p *Protection) HasTargets(spec map[string]any) bool {
	for field := range spec {
		if name := p.nearestField(field); name == targetRefs || name == targetSelectors {
			return true
		}
	}
	return false
}

// GatherFields returns the spec of a document. It has those fields, too, that stand elsewhere in the document, since
// their lines are indented wrongly: lists of targets, and fields for which an object protects.
func (p *Protection) GatherFields(doc, spec map[string]any) map[string]any {
	if spec == nil {
		return nil
	}
	spec = maps.Clone(spec)
	p.gatherFrom(doc, spec)
	return spec
}

func (p *Protection) gatherFrom(from any, spec map[string]any) {
	switch from := from.(type) {
	case []any:
		for _, value := range from {
			p.gatherFrom(value, spec)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(from)) {
			if _, there := spec[name]; !there && p.decidesClosing(name) {
				spec[name] = from[name]
			}
			p.gatherFrom(from[name], spec)
		}
	}
}

// decidesClosing tells whether a field decides on what is closed.
func (p *Protection) decidesClosing(field string) bool {
	if field == targetRefs || field == targetSelectors {
		return true
	}
	return slices.Contains(p.Fields, field) && !p.Protects(map[string]any{}) && p.Protects(map[string]any{field: nil})
}

// AllTargets is whatever of its namespace an object can be for.
func (p *Protection) AllTargets() (list []Target) {
	for _, k := range p.Targets {
		if k != model.KindGatewayClass { // which is in no namespace
			list = append(list, Target{Kind: k})
		}
	}
	return list
}

// nearestField is the field that a name is, or is near to; "": none.
func (p *Protection) nearestField(field string) string {
	if slices.Contains(p.Fields, field) {
		return field
	}
	return model.NearestName(field, p.Fields)
}

// readTargets adds the targets of a list, or of what should be one. It is false if one of them can't be read.
func (p *Protection) readTargets(list *[]Target, value any, as func(map[string]any) (Target, bool)) bool {
	entries, is := value.([]any)
	if !is {
		entries = []any{value}
	}
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		t, ok := as(entry)
		if !ok {
			return false
		}
		if !slices.ContainsFunc(*list, t.Equal) {
			*list = append(*list, t)
		}
	}
	return len(entries) > 0
}

// readTargetRef reads the target that an entry of targetRefs names. Its group is that of its kind.
func (p *Protection) readTargetRef(entry map[string]any) (t Target, ok bool) {
	t.Name, _ = entry["name"].(string)
	t.Section, _ = entry["sectionName"].(string)
	t.Kind, ok = p.kindIn(entry)
	return t, ok && t.Name != ""
}

// readTargetSelector reads what an entry of targetSelectors selects.
func (p *Protection) readTargetSelector(entry map[string]any) (t Target, ok bool) {
	labels, _ := entry["matchLabels"].(map[string]any)
	for name, value := range labels {
		text, is := value.(string)
		if !is {
			return t, false
		}
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		t.Labels[name] = text
	}
	t.Section, _ = entry["sectionName"].(string)
	t.Kind, ok = p.kindIn(entry)
	return t, ok && len(t.Labels) > 0
}

// kindIn is the kind of a target.
func (p *Protection) kindIn(entry map[string]any) (model.Kind, bool) {
	name, _ := entry["kind"].(string)
	names := make([]string, len(p.Targets))
	for i, k := range p.Targets {
		names[i] = k.String()
	}
	i := slices.Index(names, name)
	if i < 0 {
		i = slices.Index(names, model.NearestName(name, names))
	}
	if i < 0 {
		return model.Kind{}, false
	}
	return p.Targets[i], true
}

// Equal tells whether two targets are the same.
func (t Target) Equal(other Target) bool {
	return t.Kind == other.Kind && t.Name == other.Name && t.Section == other.Section && maps.Equal(t.Labels, other.Labels)
}

// String is the target as users are told it.
func (t Target) String() string {
	what := t.Kind.String() + " " + t.Name
	if t.Name == "" {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
			pairs = append(pairs, name+"="+t.Labels[name])
		}
		what = fmt.Sprintf("each %s with %s", t.Kind, strings.Join(pairs, ", "))
	}
	if t.Section != "" {
		what += " (" + t.Section + ")"
	}
	return what
}
