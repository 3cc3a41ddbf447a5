package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// readChanges reads all that the comparison needs from the View of a Try: what the edits change, and no more, since
// turns wait meanwhile.
func (d *Differ) readChanges(v flow.View) (report Report, scenes []*gatewayChange) {
	for _, k := range d.world.Sources.Catalog.All() {
		for _, o := range d.world.Sources.KindSource(k.Kind).StagedChanges(v) {
			report.Objects = append(report.Objects, changeSign(o.Added, o.Removed)+" "+o.Ref.String())
			if !o.Added && !o.Removed {
				report.addFields(k, o.Ref, o.OldSpec, o.NewSpec)
			}
		}
	}
	findings := d.world.NewFindings(v)
	if d.extraFindings != nil {
		findings = append(findings, d.extraFindings(v)...)
	}
	for _, f := range findings {
		text := f.Object.String() + ": " + f.Describe()
		if f.Severity == model.Error && !d.doubtful(f) {
			report.Refused = append(report.Refused, text)
		} else {
			report.Warnings = append(report.Warnings, text)
		}
	}
	var tables []changedTable
	var listeners []changedListener
	var around []resource.Key
	for _, c := range d.world.Collections(func(resource.Role) bool { return true }) {
		for change := range flow.StagedChanges(v, c) {
			was, existed := d.offeredBefore(v, change.Key)
			is, exists := d.offeredAfter(v, change.Key)
			types := d.types(v, change.Key.Gateway)
			spec := types[change.Key.Type]
			switch {
			case existed == exists && was.Version == is.Version:
			case spec.Role == resource.Entries && !hasFragments(was) && !hasFragments(is): // each Gateway has them
			case spec.Role == resource.Routing:
				tables = append(tables, changedTable{key: change.Key, domains: changedParts(was.Parts, is.Parts)})
			default:
				if spec.Role == resource.Listening {
					listeners = append(listeners, listenerChange(types, change.Key, was, is))
					around = append(around, tablesBehind(types, change.Key.Gateway, was, is)...)
					report.Ends = append(report.Ends, d.findEnds(v, change.Key, was, is)...)
				}
				text := fmt.Sprintf("%s %s: %s %s", changeSign(!existed, !exists), change.Key.Gateway.NamespacedName(), spec.Name,
					change.Key.Name)
				report.Resources = append(report.Resources, text)
			}
		}
	}
	tables = d.addWholeTables(v, tables, around)
	unsigned := func(a, b string) int { return strings.Compare(a[2:], b[2:]) }
	slices.SortFunc(report.Objects, unsigned)
	slices.SortFunc(report.Resources, unsigned)
	slices.SortStableFunc(report.Fields, func(a, b Field) int { return strings.Compare(a.Object, b.Object) })
	slices.SortFunc(tables, func(a, b changedTable) int {
		return cmp.Or(a.key.Gateway.Compare(b.key.Gateway), strings.Compare(a.key.Name, b.key.Name))
	})
	slices.SortFunc(listeners, func(a, b changedListener) int {
		return cmp.Or(a.key.Gateway.Compare(b.key.Gateway), strings.Compare(a.key.Name, b.key.Name))
	})
	slices.Sort(report.Ends) // each address that a port is bound at has a resource
	report.Ends = slices.Compact(report.Ends)
	moves := d.findMoves(v)
	scenes = d.findGatewayChanges(v, tables, listeners, moves, d.findConnections(v, moves))
	report.Access = d.compareAccess(v)
	if more := len(report.Access) - maxListed; more > 0 {
		report.Access, report.MoreAccess = report.Access[:maxListed], more
	}
	report.DataPlanes = d.dataPlanes(v, scenes)
	return report, scenes
}

// hasFragments tells whether a resource holds what an object states.
func hasFragments(r resource.Resource) bool {
	return slices.ContainsFunc(r.Parts, func(p *resource.Part) bool { return len(p.Fragments) > 0 })
}

func changeSign(added, removed bool) string {
	switch {
	case added:
		return "+"
	case removed:
		return "-"
	}
	return "~"
}

// changedTable is a route table that differs, and the domains of the virtual hosts that do.
type changedTable struct {
	key     resource.Key
	domains []string
	around  bool // what its listener states for all requests differs: domains are all
}

// tablesBehind are the tables of the parts of a listener that were there before under the same names, and state
// something else. Those with other names have requests of their own (listenerChange).
func tablesBehind(types resource.AllTypes, gateway model.ObjectRef, was, is resource.Resource) (list []resource.Key) {
	for _, p := range is.Parts {
		old := resource.FindPart(was.Parts, p.ID)
		if old == nil || equalParts(old, p) || !slices.Equal(old.Claims, p.Claims) {
			continue
		}
		for _, n := range p.Needs {
			if types.Has(n.Type, resource.Routing) {
				list = append(list, resource.Key{Gateway: gateway, Type: n.Type, Name: n.Name})
			}
		}
	}
	return list
}

// addWholeTables adds tables with all their domains.
func (d *Differ) addWholeTables(v flow.View, tables []changedTable, keys []resource.Key) []changedTable {
	for _, key := range keys {
		was, _ := d.offeredBefore(v, key)
		is, _ := d.offeredAfter(v, key)
		t := changedTable{key: key, around: true}
		for _, p := range slices.Concat(was.Parts, is.Parts) {
			if p.ID != "" {
				t.domains = append(t.domains, p.ID)
			}
		}
		slices.Sort(t.domains)
		t.domains = slices.Compact(t.domains)
		tables = slices.DeleteFunc(tables, func(o changedTable) bool { return o.key == key })
		tables = append(tables, t)
	}
	return tables
}

// changedParts are the domains of the virtual hosts that differ between two tables, in order. If a setting differs that
// all hosts of a table share, such as one of a policy of the Gateway, all hosts do.
func changedParts(a, b []*resource.Part) (domains []string) {
	shared := !slices.EqualFunc(sharedParts(a), sharedParts(b), equalParts)
	note := func(p *resource.Part) {
		if p.ID != "" {
			domains = append(domains, p.ID)
		}
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].ID < b[0].ID:
			note(a[0])
			a = a[1:]
		case len(a) == 0 || b[0].ID < a[0].ID:
			note(b[0])
			b = b[1:]
		default:
			if shared || !equalParts(a[0], b[0]) {
				note(a[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	return domains
}

// sharedParts are the parts without a domain, which come first: parts are in the order of their IDs.
func sharedParts(list []*resource.Part) []*resource.Part {
	n := slices.IndexFunc(list, func(p *resource.Part) bool { return p.ID != "" })
	if n < 0 {
		return list
	}
	return list[:n]
}

func equalParts(a, b *resource.Part) bool { return a == b || a.Hash == b.Hash }
