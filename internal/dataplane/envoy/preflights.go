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
)

// A browser asks by a preflight whether a script may send a request: by OPTIONS, without the method and the headers of
// that request. So a match that compares these does not take the preflights of its requests. Where CORS holds, such a
// match has a second route, for its preflights, behind all routes of the domain: no rule loses a request to it. CORS
// answers what it takes; see docs/adr/0046-preflights-of-matches.md.
//
//	PUT /a, CORS ──> route: /a, PUT                     ┐ in the order of the sites
//	/a/b         ──> route: /a/b                        ┘
//	                 route: /a, OPTIONS, Origin, Access-Control-Request-Method: PUT

// preflights are routes for the preflights of a rule's matches that don't take these themselves, by match; nil: there
// are none, or CORS does not hold.
type preflights struct {
	Own       model.Rope // with what the rule and its route state
	Inherited model.Rope // the same, where a level above states CORS; nil if none does anywhere
}

func (p preflights) at(inherits bool) model.Rope {
	if inherits {
		return p.Inherited
	}
	return p.Own
}

// add renders those of a match; routes are the ones of its requests.
func (p *preflights) add(r statedRule, match int, routes []*routev3.Route) {
	asks, apart := r.Matches[match].Preflight()
	if !apart {
		return
	}
	p.Own = withPreflight(p.Own, r, match, asks, answeringPreflights(routes, false))
	if r.Inherits {
		p.Inherited = withPreflight(p.Inherited, r, match, asks, answeringPreflights(routes, true))
	}
}

func withPreflight(list model.Rope, r statedRule, match int, asks model.Match, routes []*routev3.Route) model.Rope {
	b, err := renderMatch(r, asks, routes, nil)
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

// answeringPreflights are routes with the filters of those of some that CORS holds for. Envoy answers CORS only for
// routes to a cluster. No backend may get what CORS does not answer, for the rule does not take OPTIONS: it is not
// found, as without the route.
func answeringPreflights(routes []*routev3.Route, inherited bool) (answering []*routev3.Route) {
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
				ClusterSpecifier:            &routev3.RouteAction_Cluster{Cluster: invalidCluster},
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
	if s.ofTables == nil {
		return nil
	}
	return flow.Map(s.homes, "envoy/cors", func(c *flow.Ctx, k model.ListenerKey, h home) (model.ObjectRef, bool) {
		inherited := settingsOf(fetch(c, s.ofTables, h.Table))
		if !h.Alone {
			inherited = httpfilters.Join(inherited, fetch(c, s.settings.Listeners, k))
		}
		return h.Table.Gateway, slices.ContainsFunc(inherited, statesCORS)
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

func statesCORS(s plan.Setting) bool { return s.Slot == httpfilters.CORS && !s.Off }

func (s stages) inheritsCORS(c *flow.Ctx, k model.ListenerKey) bool {
	if s.cors == nil {
		return false
	}
	_, states := flow.Fetch(c, s.cors, k)
	return states
}

// addPreflights adds the routes for preflights of sites. The rules of the sites were added before.
func (v *assembly) addPreflights(sites plan.Sites) {
	for k := range sites.All() {
		r := v.rules[k.Rule]
		if k.Match >= len(r.Preflights) || r.Preflights[k.Match] == nil {
			continue
		}
		m := siteMatch{k.Rule, k.Match}
		if _, ok := v.answered[m]; ok {
			continue
		}
		if v.answered == nil {
			v.answered = make(map[siteMatch]struct{})
		}
		v.answered[m] = struct{}{}
		v.routes = append(v.routes, r.Preflights[k.Match])
	}
}
