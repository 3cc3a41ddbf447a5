package live

import (
	"cmp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

// look is one View, and what is asked of it once.
type look struct {
	*Tracker
	flow.View
	gateways []model.ObjectRef
	sections map[model.ObjectRef][]model.ListenerKey // of Gateways; nil until somebody asks
	asked    bool                                    // whether settled and proxies are known
	settled  bool                                    // all proxies have acknowledged all there is, or refused it
	proxies  int                                     // of those
}

func (l *look) gather() {
	for gateway := range flow.All(l.View, l.World.Plan.Gateways) {
		l.gateways = append(l.gateways, gateway)
	}
}

// everything asks whether all proxies have acknowledged all there is. It looks at all that they have, so only objects
// that are no routes ask for it, once a look.
func (l *look) everything() bool {
	if l.asked {
		return l.settled
	}
	l.asked = true
	blocked := map[model.ObjectRef]bool{}
	for key := range flow.All(l.View, l.World.Feedback.Refused.Collection()) {
		blocked[key.Gateway] = true
	}
	l.settled = l.Proxies.Seen() >= l.Rev() // else what is behind is of an earlier turn
	behind := l.Proxies.Behind()
	for gateway, g := range flow.All(l.View, l.World.Plan.Gateways) {
		if blocked[gateway] || g.DataPlane.ReadsFiles() {
			continue
		}
		p, _ := flow.Get(l.View, l.World.Feedback.Proxies.Collection(), gateway)
		l.proxies += p.Connected
		if p.Connected == 0 || p.Acknowledged < p.Connected {
			l.settled = false
		}
		for _, n := range behind[gateway] {
			l.settled = l.settled && n == 0
		}
	}
	return l.settled
}

// of tells what became of an object; done is false if that is not known yet.
func (l *look) of(ref model.ObjectRef, o ledger.Object) (rows []ledger.Live, done bool) {
	source := l.World.Sources.Of(ref.Kind())
	if source == nil {
		return []ledger.Live{{Refused: "not taken: its kind is not read"}}, true
	}
	value, there := source.Get(l.View, ref)
	there = there && value.Meta.UID == o.ID // else it is there by itself, as a Namespace with objects is
	if there == o.IsDeleted() || there && value.Meta.Generation < o.Generation {
		if why := l.Untaken(ref); why != "" {
			return []ledger.Live{{Refused: "not taken: " + why}}, true
		}
		return nil, false // the graph is about to have it
	}
	if why := l.wrong(ref, true); why != "" {
		return []ledger.Live{{Refused: "not accepted: " + why}}, true
	}
	if rows, done = l.answers(ref); !done {
		return nil, false
	}
	if why := l.wrong(ref, false); why != "" {
		rows = slices.DeleteFunc(rows, func(l ledger.Live) bool { return l.Gateway == "" && l.Refused == "" })
		rows = append(rows, ledger.Live{Refused: why})
	}
	return rows, true
}

// answers is what the proxies said of an object.
func (l *look) answers(ref model.ObjectRef) (rows []ledger.Live, done bool) {
	if route, is := flow.Get(l.View, l.World.Plan.Routes, ref); is && len(route.Places) > 0 {
		return l.route(ref, route)
	}
	if rows := l.refused(ref); len(rows) > 0 {
		return rows, true
	}
	if !l.everything() {
		return nil, false
	}
	return []ledger.Live{{Proxies: l.proxies}}, true
}

// refused are the Gateways whose proxies refused an object that is no route, as it is now, in their words.
func (l *look) refused(ref model.ObjectRef) (rows []ledger.Live) {
	out := l.World.Outputs
	for _, gateway := range l.gateways {
		key := resource.StandingKey{Gateway: gateway, Origin: resource.Origin{Object: ref}}
		settings, _ := flow.Get(l.View, out.Settings, key)
		policies, _ := flow.Get(l.View, out.Policies, key)
		backends, _ := flow.Get(l.View, out.RefusedBackends, key)
		words := cmp.Or(settings.Refused, policies.Refused, backends.Message)
		if ref == gateway {
			words = cmp.Or(words, l.listeners(gateway, ref))
		}
		if words != "" {
			rows = append(rows, ledger.Live{Gateway: gateway.NamespacedName(), Refused: words})
		}
	}
	return rows
}

// listeners is what the proxies of a Gateway said of listeners that they refused.
func (l *look) listeners(gateway, parent model.ObjectRef) (words string) {
	if l.sections == nil {
		l.sections = map[model.ObjectRef][]model.ListenerKey{}
		for key := range flow.All(l.View, l.World.Plan.Listeners) {
			l.sections[key.Parent] = append(l.sections[key.Parent], key)
		}
	}
	for _, key := range l.sections[parent] {
		standing, _ := flow.Get(l.View, l.World.Outputs.Listeners, resource.StandingKey{
			Gateway: gateway, Origin: resource.Origin{Object: parent, Section: key.Section},
		})
		words = cmp.Or(words, standing.Refused)
	}
	return words
}

// wrong says what is wrong with an object, as Cardea found it: why it is not accepted, or any error, because of which
// it does not do what it states though proxies have it. What only waits, as for keys to be fetched, is not wrong.
func (l *look) wrong(ref model.ObjectRef, accepted bool) string {
	var why []string
	for _, f := range l.World.Reported(l.View, ref) {
		if f.Object == ref && f.Severity == model.Error && (!accepted || f.Condition == "Accepted") &&
			!strings.HasSuffix(f.Reason, "Pending") {
			why = append(why, strings.TrimPrefix(f.Field+": "+f.Message, ": "))
		}
	}
	return strings.Join(why, "; ")
}

// route tells of a route, by Gateways.
func (l *look) route(ref model.ObjectRef, route model.Route) (rows []ledger.Live, done bool) {
	gateways := map[model.ObjectRef]bool{}
	for _, place := range route.Places {
		if listener, found := flow.Get(l.View, l.World.Plan.Listeners, place.Listener); found {
			gateways[listener.Gateway] = true
		}
	}
	for gateway := range gateways {
		standing, found := flow.Get(l.View, l.World.Outputs.Routes, resource.RouteKey{Gateway: gateway, Route: ref})
		p, _ := flow.Get(l.View, l.World.Feedback.Proxies.Collection(), gateway)
		row := ledger.Live{Gateway: gateway.NamespacedName(), Proxies: p.Connected}
		for _, place := range standing.Places {
			for _, rule := range place.Rules {
				if rule.Refused != "" {
					row.Refused = rule.Refused
				} else if !rule.Acknowledged {
					return nil, false
				}
			}
		}
		if !found || p.Connected == 0 && !l.readsFiles(gateway) {
			return nil, false
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b ledger.Live) int { return strings.Compare(a.Gateway, b.Gateway) })
	return rows, true
}

func (l *look) readsFiles(gateway model.ObjectRef) bool {
	g, _ := flow.Get(l.View, l.World.Plan.Gateways, gateway)
	return g.DataPlane.ReadsFiles()
}
