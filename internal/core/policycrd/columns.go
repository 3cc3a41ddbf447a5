package policycrd

import (
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
)

func (d *PolicyKind) printColumns() []kind.Column {
	accepted := kind.Column{Title: "ACCEPTED", CellText: kinds.EntriesOf("ancestors", "Accepted")}
	programmed := kind.Column{Title: "PROGRAMMED", CellText: kinds.EntriesOf("ancestors", "cardea.dev/Programmed")}
	if d.hasNoTargets() {
		return []kind.Column{accepted, programmed}
	}
	if d.Feature(extend.Whole) != nil {
		return []kind.Column{{Title: "TARGETS", CellText: showTargets}, accepted, programmed}
	}
	return []kind.Column{
		{Title: "TARGETS", CellText: showTargets},
		{Title: "STRATEGY", CellText: func(o kind.JSONObject) string {
			if stated := o.TextAt("spec", "strategy"); stated != "" {
				return stated
			}
			return string(input.PatchDefaults)
		}},
		{Title: "FEATURES", CellText: showFeatures},
		accepted,
		programmed,
	}
}

// showTargets shows "HTTPRoute/web", "Gateway/edge:https", and "HTTPRoute{team=shop}" for a selector.
func showTargets(o kind.JSONObject) string {
	var list []string
	section := func(target kind.JSONObject) string {
		if name := target.TextAt("sectionName"); name != "" {
			return ":" + name
		}
		return ""
	}
	for _, t := range o.ObjectsAt("spec", "targetRefs") {
		list = append(list, t.TextAt("kind")+"/"+t.TextAt("name")+section(t))
	}
	for _, t := range o.ObjectsAt("spec", "targetSelectors") {
		labels, _ := t.ValueAt("matchLabels").(map[string]any)
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			pairs = append(pairs, key+"="+t.TextAt("matchLabels", key))
		}
		list = append(list, t.TextAt("kind")+"{"+strings.Join(pairs, ",")+"}"+section(t))
	}
	return strings.Join(list, ",")
}

// showFeatures shows those that are stated, and "-name" for those that are disabled.
func showFeatures(o kind.JSONObject) string {
	spec, _ := o.ValueAt("spec").(map[string]any)
	var list []string
	for name := range spec {
		if name != input.ExtensionsField && !slices.Contains(sharedFieldNames(), name) {
			list = append(list, name)
		}
	}
	strangers, _ := spec[input.ExtensionsField].(map[string]any)
	list = slices.AppendSeq(list, maps.Keys(strangers))
	slices.Sort(list)
	for _, name := range o.TextsAt("spec", "disable") {
		list = append(list, "-"+name)
	}
	return strings.Join(list, ",")
}
