package route

import (
	"cmp"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// wholeShare is the denominator of shares: a millionth is the finest that Envoy knows.
const wholeShare = 1_000_000

// shareRoutes renders a route for each backend that takes a share of a rule's requests; so a pool is chosen before its
// picker is asked. Envoy compares one random number of the request with the fraction of each route in turn: so a
// fraction is all that came before, and the last route has none and takes what is left. A weighted cluster would do for
// headers, but it can't rewrite paths, mirror, or redirect.
func shareRoutes(r Rule, m model.PathMatch, at ListenerContext) ([]*routev3.Route, error) {
	var taking []int // the backends that take a share
	var total, sum, taken uint64
	for i, b := range r.Backends {
		if b.Weight > 0 {
			taking = append(taking, i)
			total += uint64(b.Weight)
		}
	}
	if len(taking) == 0 {
		return []*routev3.Route{FailureRoute(r.Key.Route)}, nil
	}
	var routes []*routev3.Route
	for i, index := range taking {
		own, err := backendRoutes(r, index, m, at)
		if err != nil {
			return nil, err
		}
		if i < len(taking)-1 {
			sum += uint64(r.Backends[index].Weight)
			// No share becomes nothing.
			taken = min(max(sum*wholeShare/total, taken+1), wholeShare-uint64(len(taking)-1-i))
			for _, route := range own {
				route.Match = cmp.Or(route.Match, &routev3.RouteMatch{})
				route.Match.RuntimeFraction = runtimeFraction(uint32(taken), typev3.FractionalPercent_MILLION)
			}
		}
		routes = append(routes, own...)
	}
	return routes, nil
}

// backendRoutes renders what becomes of the share of a backend. The route decides what a picker is sent. So WebSockets
// have a route of their own if the picker is not Cardea's.
func backendRoutes(
	r Rule, index int, m model.PathMatch, at ListenerContext,
) (routes []*routev3.Route, err error) {
	b := r.Backends[index]
	if b.Invalid {
		return []*routev3.Route{FailureRoute(r.Key.Route)}, nil
	}
	filters := r.Filters
	if b.Filters != nil {
		filters = joinFilters(r.Filters, *b.Filters)
	}
	ways := []*routev3.RouteMatch{nil}
	if b.Pool.HasPicker() && !b.Pool.Own {
		ways = []*routev3.RouteMatch{{Headers: []*routev3.HeaderMatcher{webSocketMatcher()}}, nil}
	}
	for _, match := range ways {
		own := r
		own.Session = cmp.Or(r.Session, b.Session)
		own.Settings = httpfilters.Join(r.Settings, r.settingsOfBackend(index), pickerSettings(b, match != nil))
		own.Fields = r.fieldsOfBackend(index)
		route, err := filteredRoute(own, filters, []model.WeightedBackend{b}, m, at)
		if err != nil {
			return nil, err
		}
		if b.Pool.HasPicker() {
			retryOtherEndpoints(route)
		}
		route.Match = match
		routes = append(routes, route)
	}
	return routes, nil
}

// runtimeFraction is a part of requests; no runtime key changes it.
func runtimeFraction(numerator uint32, of typev3.FractionalPercent_DenominatorType) *corev3.RuntimeFractionalPercent {
	return &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{Numerator: numerator, Denominator: of}}
}

// joinFilters are a rule's filters and, behind them, a backend's. Package gateway sees to it that they don't
// contradict.
func joinFilters(rule, backend model.Filters) model.Filters {
	return model.Filters{
		Redirect:        backend.Redirect,
		RequestHeaders:  joinHeaders(rule.RequestHeaders, backend.RequestHeaders),
		ResponseHeaders: joinHeaders(backend.ResponseHeaders, rule.ResponseHeaders),
		Rewrite:         joinRewrites(rule.Rewrite, backend.Rewrite),
		Mirrors:         slices.Concat(rule.Mirrors, backend.Mirrors),
		CORS:            cmp.Or(rule.CORS, backend.CORS),
		Auth:            cmp.Or(rule.Auth, backend.Auth),
	}
}

func joinRewrites(a, b *model.Rewrite) *model.Rewrite {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	joined := *b
	if joined.Hostname == "" {
		joined.Hostname = a.Hostname
	}
	if joined.Path == nil {
		joined.Path = a.Path
	}
	return &joined
}

// joinHeaders is what comes of two modifiers, one after the other. Envoy removes first, then sets and adds in order.
func joinHeaders(first, then *model.HeaderModifier) *model.HeaderModifier {
	if first == nil || then == nil {
		if first == nil {
			return then
		}
		return first
	}
	replaced := func(h model.Header) bool {
		same := func(name string) bool { return strings.EqualFold(h.Name, name) }
		return slices.ContainsFunc(then.Remove, same) ||
			slices.ContainsFunc(then.Set, func(set model.Header) bool { return same(set.Name) })
	}
	return &model.HeaderModifier{
		Set:    slices.Concat(slices.DeleteFunc(slices.Clone(first.Set), replaced), then.Set),
		Add:    slices.Concat(slices.DeleteFunc(slices.Clone(first.Add), replaced), then.Add),
		Remove: slices.Concat(first.Remove, then.Remove),
	}
}
