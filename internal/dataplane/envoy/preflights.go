package envoy

import (
	"bytes"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// A browser asks by a preflight whether a script may send a request: by OPTIONS, without the method and the headers of
// that request. So a match that compares these does not take the preflights of its requests. Where CORS holds, such a
// match has a second route, for its preflights, behind all routes of the domain: no rule loses a request to it. CORS
// answers what it takes; see docs/adr/0046-preflights-of-matches.md.
//
//	PUT /a, CORS ──> route: /a, PUT                     ┐ in the order of the entries
//	/a/b         ──> route: /a/b                        ┘
//	                 route: /a, OPTIONS, Origin, Access-Control-Request-Method: PUT

// preflightRoutes are routes for the preflights of a rule's matches that don't take these themselves, by match; nil:
// there are none, or CORS does not hold.
type preflightRoutes struct {
	Own       model.Rope // with what the rule and its route state
	Inherited model.Rope // the same, where a level above states CORS; nil if none does anywhere
}

func (p preflightRoutes) routesFor(inherits bool) model.Rope {
	if inherits {
		return p.Inherited
	}
	return p.Own
}

// addMatch renders those of a match; routes are the ones of its requests.
func (p *preflightRoutes) addMatch(r route.Rule, match int, routes []*routev3.Route) {
	asks, apart := r.Matches[match].PreflightMatch()
	if !apart {
		return
	}
	p.Own = appendPreflight(p.Own, r, match, asks, preflightAnswers(routes, false))
	if r.InheritsCORS {
		p.Inherited = appendPreflight(p.Inherited, r, match, asks, preflightAnswers(routes, true))
	}
}

func appendPreflight(
	list model.Rope, r route.Rule, match int, asks model.Match, routes []*routev3.Route,
) model.Rope {
	b, err := encodeMatchRoutes(r, asks, routes, nil)
	same := func(other []byte) bool { return bytes.Equal(other, b) }
	if err != nil || len(b) == 0 || slices.ContainsFunc(list, same) { // as of other headers
		return list
	}
	if list == nil {
		list = make(model.Rope, len(r.Matches))
	}
	list[match] = b
	return list
}

// preflightAnswers are routes with the filters of those of some that CORS holds for. Envoy answers CORS only for
// routes to a cluster. No backend may get what CORS does not answer, for the rule does not take OPTIONS: it is not
// found, as without the route.
func preflightAnswers(routes []*routev3.Route, inherited bool) (answering []*routev3.Route) {
	for _, r := range routes {
		runs, stated := httpfilters.RunsAtRoute(httpfilters.CORS, r.GetTypedPerFilterConfig())
		if r.GetRoute() == nil || stated && !runs || !stated && !inherited || len(r.GetMatch().GetHeaders()) > 0 {
			continue // a WebSocket has no preflight
		}
		answering = append(answering, &routev3.Route{
			Match: proto.CloneOf(r.GetMatch()), TypedPerFilterConfig: r.GetTypedPerFilterConfig(),
			ResponseHeadersToAdd: r.GetResponseHeadersToAdd(), ResponseHeadersToRemove: r.GetResponseHeadersToRemove(),
			Metadata: r.GetMetadata(),
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier:            &routev3.RouteAction_Cluster{Cluster: naming.InvalidCluster},
				ClusterNotFoundResponseCode: routev3.RouteAction_NOT_FOUND,
			}},
		})
	}
	if last := len(answering) - 1; last >= 0 {
		answering[last].Match = nil // the rest of the shares
	}
	return answering
}

// listenersWithCORS are those for which they, or their Gateways, state CORS, each with its Gateway. Most edits of
// settings change none.
func (s stages) listenersWithCORS() *flow.Collection[model.ListenerKey, model.ObjectRef] {
	if s.settingsByTable == nil {
		return nil
	}
	return flow.Map(s.placements, "envoy/cors", func(c *flow.Ctx, k model.ListenerKey, h tablePlacement) (model.ObjectRef,
		bool) {
		inherited := settingsOf(fetchOptional(c, s.settingsByTable, h.Table))
		if !h.SoleUser {
			inherited = httpfilters.Join(inherited, fetchOptional(c, s.settings.Listeners, k))
		}
		return h.Table.Gateway, slices.ContainsFunc(inherited, setsCORS)
	})
}

// gatewaysWithCORS are those of listenersWithCORS. Their routes are rendered for both: with CORS above, and without.
func gatewaysWithCORS(listeners *flow.Collection[model.ListenerKey, model.ObjectRef],
) *flow.Collection[model.ObjectRef, struct{}] {
	if listeners == nil {
		return nil
	}
	of := flow.Group(listeners, "envoy/cors-by-gateway",
		func(_ model.ListenerKey, gateway model.ObjectRef) []model.ObjectRef {
			return []model.ObjectRef{gateway}
		}, flow.ByKey)
	return flow.Map(of, "envoy/gateways-with-cors",
		func(*flow.Ctx, model.ObjectRef, flow.Members[model.ListenerKey, model.ObjectRef]) (none struct{}, _ bool) {
			return none, true
		})
}

func setsCORS(s plan.Setting) bool { return s.Slot == httpfilters.CORS && !s.Off }

func (s stages) inheritsCORS(c *flow.Ctx, k model.ListenerKey) bool {
	if s.cors == nil {
		return false
	}
	_, states := flow.Fetch(c, s.cors, k)
	return states
}

// addPreflights adds the routes for preflights of entries. The rules of the entries were added before.
func (v *hostBuilder) addPreflights(entries plan.RouteEntries) {
	for k := range entries.All() {
		r := v.rules[k.Rule]
		if k.Match >= len(r.Preflights) || r.Preflights[k.Match] == nil {
			continue
		}
		m := entryMatch{k.Rule, k.Match}
		if _, ok := v.preflightMatches[m]; ok {
			continue
		}
		if v.preflightMatches == nil {
			v.preflightMatches = make(map[entryMatch]struct{})
		}
		v.preflightMatches[m] = struct{}{}
		v.routes = append(v.routes, r.Preflights[k.Match])
	}
}
