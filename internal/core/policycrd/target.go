package policycrd

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// Target is a kind of object that policies can target.
type Target struct {
	model.Kind
	Sections string // what its sections are; "": a policy can't target a part
}

// ownObjects are Cardea's own kinds of routes and backends.
func ownObjects() []*kind.Kind { return append(kinds.Routes(), kinds.Backends()...) }

// targetsOf lists what policies of a kind can target, by the levels where its features can stand. objects are the
// kinds of routes and backends.
func targetsOf(features extend.Levels, objects []*kind.Kind) []Target {
	listener := ""
	if features&(extend.AtRule|extend.AtListener|extend.AtPort) != 0 {
		listener = "listener"
	}
	var list []Target
	if features&(extend.AtRule|extend.AtListener|extend.AtPort|extend.AtBackend) != 0 {
		list = append(list, Target{Kind: model.KindGatewayClass}, Target{model.KindGateway, listener})
	}
	if features.Has(extend.AtRule) {
		for _, k := range objects {
			if k.Route.ForHTTP() {
				list = append(list, Target{k.Kind, "rule"})
			}
		}
	}
	if features.Has(extend.AtRuleBackend) {
		list = appendBackends(list, objects, kind.ForRules)
	}
	if features.Has(extend.AtBackend) {
		list = appendBackends(list, objects, kind.ForBackend)
	}
	return list
}

func appendBackends(list []Target, objects []*kind.Kind, can kind.Targets) []Target {
	for _, b := range objects {
		if !b.Backend.Can(can) {
			continue
		}
		t := Target{Kind: b.Kind}
		if can == kind.ForBackend {
			t.Sections = b.Backend.Sections
		}
		list = append(list, t)
	}
	return list
}

// hasNoTargets tells whether objects of the kind have no targets: they count only where rules name them.
func (d *PolicyKind) hasNoTargets() bool { return d.CountsAs == nil && len(d.Targets()) == 0 }

// Targets lists the kinds of objects that policies of this kind can target.
func (d *PolicyKind) Targets() []Target { return targetsOf(d.Kind.Features, d.objects) }

// uniqueTargets is the rule of a list of targets. It can't be a list map: a key must be required or have a default, and
// sectionName is neither.
var uniqueTargets = schema{
	"rule": "self.all(a, self.exists_one(b, a.group == b.group && a.kind == b.kind && a.name == b.name && " +
		"(has(a.sectionName) ? a.sectionName : '') == (has(b.sectionName) ? b.sectionName : '')))",
	"message": "the same target is named twice",
}

// targetRules are the rules of one target: its kind is one that such policies can have, and it has sections if one is
// named.
func (d *PolicyKind) targetRules() []any {
	var all, divided, names, parts []string
	for _, t := range d.Targets() {
		quoted := fmt.Sprintf("'%s/%s'", t.Group(), t)
		all, names = append(all, quoted), append(names, t.String())
		if t.Sections != "" {
			divided = append(divided, quoted)
			parts = append(parts, fmt.Sprintf("a %s of a %s", t.Sections, t))
		}
	}
	rules := []any{schema{
		"rule": "(self.group + '/' + self.kind) in [" + strings.Join(all, ", ") + "]",
		"message": fmt.Sprintf("a %s has targets of the kinds %s; group must be the kind's, and empty for a Service",
			d.Name, strings.Join(names, ", ")),
	}}
	section := "sectionName names " + strings.Join(parts, ", ") + "; take it out for other kinds"
	return append(rules, schema{
		"rule":    "!has(self.sectionName) || (self.group + '/' + self.kind) in [" + strings.Join(divided, ", ") + "]",
		"message": section,
	})
}
