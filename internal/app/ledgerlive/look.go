package ledgerlive

import (
	"cmp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// snapshot is one View, and what is asked of it once.
type snapshot struct {
	*Tracker
	flow.View
	objects  map[model.ObjectRef]ledger.Object // that are asked for
	gateways []model.ObjectRef
	sections map[model.ObjectRef][]model.ListenerKey // of Gateways; nil until somebody asks
	taken    bool                                    // the proxies' server has taken all that the View shows
	at       map[model.ObjectRef]gatewayState        // nil until somebody asks
}

// gatewayState is how far the proxies of a Gateway are with all that there is for them.
type gatewayState struct {
	proxies int  // that are connected
	settled bool // they have acknowledged all of it, or refused it
}

func (l *snapshot) collectGateways() {
	for gateway := range flow.All(l.View, l.World.Plan.Gateways) {
		l.gateways = append(l.gateways, gateway)
	}
}

// gatewayStates looks at all that the proxies of each Gateway have, so only objects that are no routes ask for it, once
// a look. Proxies that read files acknowledge nothing, and are not waited for.
func (l *snapshot) gatewayStates() map[model.ObjectRef]gatewayState {
	if l.at != nil {
		return l.at
	}
	l.at = map[model.ObjectRef]gatewayState{}
	l.taken = l.Proxies.SeenRevision() >= l.Rev() // else what is unanswered is of an earlier turn
	unanswered := l.Proxies.CountUnanswered()
	for gateway, g := range flow.All(l.View, l.World.Plan.Gateways) {
		if g.DataPlane.ReadsFiles {
			continue
		}
		p, _ := flow.Get(l.View, l.World.Feedback.Proxies.Collection(), gateway)
		l.at[gateway] = gatewayState{p.Connected, l.taken && p.Acknowledged == p.Connected && unanswered[gateway] == 0}
	}
	return l.at
}

// gatewayOf is the Gateway that an object is, or a ListenerSet names; zero for other objects.
func (l *snapshot) gatewayOf(ref model.ObjectRef) model.ObjectRef {
	switch ref.Kind() {
	case model.KindGateway:
		return ref
	case model.KindListenerSet:
		source := l.World.Sources.KindSource(ref.Kind())
		if o, found := source.Get(l.View, ref); found {
			for _, r := range l.World.Sources.Catalog.ListReferences(ref, o.Spec) {
				if r.To.Kind() == model.KindGateway {
					return r.To
				}
			}
		}
	}
	return model.ObjectRef{}
}

// allProxyRows is what all proxies said of all that there is: done if they acknowledged or refused it. For a Gateway or
// a ListenerSet, only its own proxies count. The rows also say where an object waits for proxies to connect.
func (l *snapshot) allProxyRows(ref model.ObjectRef) (rows []ledger.Live, done bool) {
	proxies, waits := 0, []string(nil)
	own := l.gatewayOf(ref)
	for gateway, at := range l.gatewayStates() {
		if own != (model.ObjectRef{}) && gateway != own {
			continue
		}
		proxies += at.proxies
		if at.proxies == 0 {
			waits = append(waits, noProxy(gateway))
		} else if !at.settled {
			return nil, false
		}
	}
	switch {
	case !l.taken:
		return nil, false
	case len(waits) > 0:
		slices.Sort(waits)
		return []ledger.Live{{Waits: strings.Join(waits, "; ")}}, true
	}
	return []ledger.Live{{Proxies: proxies}}, true
}

// noProxy says what is waited for.
func noProxy(gateway model.ObjectRef) string {
	return "Gateway " + gateway.NamespacedName() + " has no connected proxy"
}

// rowsOf tells what became of an object; done is false if that is not known yet.
func (l *snapshot) rowsOf(ref model.ObjectRef, o ledger.Object) (rows []ledger.Live, done bool) {
	source := l.World.Sources.KindSource(ref.Kind())
	if source == nil {
		return []ledger.Live{{Refused: "not read: Cardea does not read its kind"}}, true
	}
	value, there := source.Get(l.View, ref)
	there = there && value.Meta.UID == o.ID // else it is there by itself, as a Namespace with objects is
	if there == o.IsDeleted() || there && value.Meta.Generation < o.Generation {
		if why := l.WhyNotTaken(ref); why != "" {
			return []ledger.Live{{Refused: "not taken: " + why}}, true
		}
		return nil, false // the graph is about to have it
	}
	if why := l.describeErrors(ref, "Accepted", nil); why != "" {
		return []ledger.Live{{Refused: "not accepted: " + why}}, true
	}
	if rows, done = l.proxyRows(ref); !done {
		return nil, false
	}
	if why := cmp.Or(l.describeErrors(ref, "", rows), l.describeBroken(o)); why != "" {
		rows = slices.DeleteFunc(rows, func(l ledger.Live) bool { return l.Gateway == "" && l.Refused == "" })
		rows = append(rows, ledger.Live{Refused: why})
	}
	return rows, true
}

// proxyRows is what the proxies said of an object.
func (l *snapshot) proxyRows(ref model.ObjectRef) (rows []ledger.Live, done bool) {
	if route, is := flow.Get(l.View, l.World.Plan.Routes, ref); is && len(route.Listeners) > 0 {
		return l.routeRows(ref, route)
	}
	if rows := l.refusalRows(ref); len(rows) > 0 {
		return rows, true
	}
	return l.allProxyRows(ref)
}

// refusalRows are the Gateways with proxies that refused the present version of an object that is no route, with their
// words.
func (l *snapshot) refusalRows(ref model.ObjectRef) (rows []ledger.Live) {
	out := l.World.Outputs
	for _, gateway := range l.gateways {
		key := resource.AckStateKey{Gateway: gateway, Origin: resource.Origin{Object: ref}}
		settings, _ := flow.Get(l.View, out.Settings, key)
		policies, _ := flow.Get(l.View, out.Policies, key)
		backends, _ := flow.Get(l.View, out.RefusedBackends, key)
		words := cmp.Or(settings.Refused, policies.Refused, backends.Message)
		if l.gatewayOf(ref) == gateway {
			words = cmp.Or(words, l.listenerRefusals(gateway, ref))
		}
		if words != "" {
			rows = append(rows, ledger.Live{Gateway: gateway.NamespacedName(), Refused: words})
		}
	}
	return rows
}

// listenerRefusals is what the proxies of a Gateway said of listeners that they refused.
func (l *snapshot) listenerRefusals(gateway, parent model.ObjectRef) (words string) {
	if l.sections == nil {
		l.sections = map[model.ObjectRef][]model.ListenerKey{}
		for key := range flow.All(l.View, l.World.Plan.Listeners) {
			l.sections[key.Parent] = append(l.sections[key.Parent], key)
		}
	}
	for _, key := range l.sections[parent] {
		standing, _ := flow.Get(l.View, l.World.Outputs.Listeners, resource.AckStateKey{
			Gateway: gateway, Origin: resource.Origin{Object: parent, Section: key.Section},
		})
		words = cmp.Or(words, standing.Refused)
	}
	return words
}

// describeErrors says what is wrong with an object, as Cardea found it: why it is not accepted, or any error that keeps
// it from doing what it states though proxies have it. It does not repeat what rows tell in a proxy's words.
func (l *snapshot) describeErrors(ref model.ObjectRef, condition string, rows []ledger.Live) string {
	var why []string
	for _, f := range l.World.ReportedFindings(l.View, ref) {
		told := func(l ledger.Live) bool { return l.Refused != "" && strings.Contains(f.Message, l.Refused) }
		if f.Object == ref && isWrong(f) && (condition == "" || f.Condition == condition) &&
			!slices.ContainsFunc(rows, told) {
			why = append(why, f.Describe())
		}
	}
	return strings.Join(why, "; ")
}

// routeRows tells of a route, by Gateways.
func (l *snapshot) routeRows(ref model.ObjectRef, route model.Route) (rows []ledger.Live, done bool) {
	gateways := map[model.ObjectRef]bool{}
	for _, place := range route.Listeners {
		if listener, found := flow.Get(l.View, l.World.Plan.Listeners, place.Listener); found {
			gateways[listener.Gateway] = true
		}
	}
	for gateway := range gateways {
		standing, found := flow.Get(l.View, l.World.Outputs.Routes, resource.RouteKey{Gateway: gateway, Route: ref})
		p, _ := flow.Get(l.View, l.World.Feedback.Proxies.Collection(), gateway)
		row, waits := ledger.Live{Gateway: gateway.NamespacedName(), Proxies: p.Connected}, false
		for _, place := range standing.Listeners {
			for _, rule := range place.Rules {
				if rule.Refused != "" {
					row.Refused = rule.Refused
				} else if !rule.Acknowledged {
					waits = true
				}
			}
		}
		switch {
		case p.Connected == 0 && !l.readsFiles(gateway):
			row = ledger.Live{Gateway: row.Gateway, Waits: noProxy(gateway)}
		case !found || waits:
			return nil, false
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b ledger.Live) int { return strings.Compare(a.Gateway, b.Gateway) })
	return oneWait(rows), true
}

// oneWait joins rows that wait: a Cardea says in one what an object waits for.
func oneWait(rows []ledger.Live) []ledger.Live {
	var words []string
	rows = slices.DeleteFunc(rows, func(l ledger.Live) bool {
		if l.Waits != "" {
			words = append(words, l.Waits)
		}
		return l.Waits != ""
	})
	if len(words) > 0 {
		rows = append(rows, ledger.Live{Waits: strings.Join(words, "; ")})
	}
	return rows
}

func (l *snapshot) readsFiles(gateway model.ObjectRef) bool {
	g, _ := flow.Get(l.View, l.World.Plan.Gateways, gateway)
	return g.DataPlane.ReadsFiles
}
