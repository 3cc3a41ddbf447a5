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

func (d *Declared) columns() []kind.Column {
	accepted := kind.Column{Title: "ACCEPTED", Of: kinds.EntriesOf("ancestors", "Accepted")}
	programmed := kind.Column{Title: "PROGRAMMED", Of: kinds.EntriesOf("ancestors", "cardea.dev/Programmed")}
	if d.untargeted() {
		return []kind.Column{accepted, programmed}
	}
	if d.Feature(extend.Whole) != nil {
		return []kind.Column{{Title: "TARGETS", Of: targets}, accepted, programmed}
	}
	return []kind.Column{
		{Title: "TARGETS", Of: targets},
		{Title: "STRATEGY", Of: func(o kind.Shown) string {
			if stated := o.Text("spec", "strategy"); stated != "" {
				return stated
			}
			return string(input.PatchDefaults)
		}},
		{Title: "FEATURES", Of: features},
		accepted,
		programmed,
	}
}

// targets shows "HTTPRoute/web", "Gateway/edge:https", and "HTTPRoute{team=shop}" for a selector.
func targets(o kind.Shown) string {
	var list []string
	section := func(target kind.Shown) string {
		if name := target.Text("sectionName"); name != "" {
			return ":" + name
		}
		return ""
	}
	for _, t := range o.List("spec", "targetRefs") {
		list = append(list, t.Text("kind")+"/"+t.Text("name")+section(t))
	}
	for _, t := range o.List("spec", "targetSelectors") {
		labels, _ := t.At("matchLabels").(map[string]any)
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			pairs = append(pairs, key+"="+t.Text("matchLabels", key))
		}
		list = append(list, t.Text("kind")+"{"+strings.Join(pairs, ",")+"}"+section(t))
	}
	return strings.Join(list, ",")
}

// features shows those that are stated, and "-name" for those that are disabled.
func features(o kind.Shown) string {
	spec, _ := o.At("spec").(map[string]any)
	var list []string
	for name := range spec {
		if name != input.ExtensionsField && !slices.Contains(shared(), name) {
			list = append(list, name)
		}
	}
	strangers, _ := spec[input.ExtensionsField].(map[string]any)
	list = slices.AppendSeq(list, maps.Keys(strangers))
	slices.Sort(list)
	for _, name := range o.Texts("spec", "disable") {
		list = append(list, "-"+name)
	}
	return strings.Join(list, ",")
}
