package envoy

import (
	"math"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// ruleRoutes renders what a rule does with the requests of one of its matches: one route or, where a backend has
// filters or sessions of its own, one for each backend that takes a share of the requests.
func ruleRoutes(r statedRule, m model.PathMatch, at place) ([]*routev3.Route, error) {
	switch {
	case r.Error != 0:
		return []*routev3.Route{statusRoute(uint32(r.Error))}, nil
	case r.Redirect == nil && !r.Answers && r.apart():
		return shareRoutes(r, m, at)
	}
	route, err := filteredRoute(r, r.Filters, r.Backends, m, at)
	return []*routev3.Route{route}, err
}

// filteredRoute renders what becomes of the requests that some filters take to some backends.
func filteredRoute(
	r statedRule, f model.Filters, backends []model.WeightedBackend, m model.PathMatch, at place,
) (*routev3.Route, error) {
	if err := checkAuth(f.Auth); err != nil {
		return nil, err
	}
	route := &routev3.Route{}
	response, removeResponse := headerOptions(f.ResponseHeaders)
	route.ResponseHeadersToRemove = removeResponse
	if f.Redirect != nil {
		action, mend, err := redirect(f.Redirect, m, at)
		if err != nil {
			return nil, err
		}
		if mend != nil { // before the user's own, which may replace it
			route.ResponseHeadersToAdd = append(route.ResponseHeadersToAdd, mend)
		}
		route.Action = &routev3.Route_Redirect{Redirect: action}
		r.configure(route, f, nil, goesOut(f, nil))
	} else if r.Answers { // what it answers is among the fields that overlay puts in; if there is nothing, it is an error
		route.Action = failure(r.Key.Route).Action
		r.configure(route, f, nil, goesOut(f, nil))
	} else if err := forwardRoute(route, r, f, backends, m); err != nil {
		return nil, err
	}
	route.ResponseHeadersToAdd = append(route.ResponseHeadersToAdd, response...)
	return route, r.overlay(route)
}

// forwardRoute renders a rule that sends requests to backends, or answers an error if it has none that takes any.
func forwardRoute(
	route *routev3.Route, r statedRule, f model.Filters, backends []model.WeightedBackend, m model.PathMatch,
) error {
	action := shares(r.Key.Route, backends)
	if action == nil {
		route.Action = failure(r.Key.Route).Action
		return nil
	}
	action.Timeout = durationpb.New(r.Timeouts.Request) // 0 is none; where nothing is said, Envoy's own limit is 15 s
	action.RetryPolicy = retryPolicy(r.Timeouts, r.Retry)
	action.RequestMirrorPolicies = mirrors(f.Mirrors)
	route.RequestHeadersToAdd, route.RequestHeadersToRemove = headerOptions(f.RequestHeaders)
	if f.Rewrite != nil {
		if f.Rewrite.Hostname != "" {
			action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: f.Rewrite.Hostname}
		}
		edit, err := editPath(f.Rewrite.Path, m)
		if err != nil {
			return err
		}
		action.PathRewrite, action.PrefixRewrite, action.RegexRewrite = literal(edit.whole), edit.prefix, edit.regex
	}
	route.Action = &routev3.Route_Route{Route: action}
	out := goesOut(f, backends)
	if out {
		route.RequestHeadersToAdd = append(route.RequestHeadersToAdd, hop())
	}
	r.configure(route, f, r.Session, out)
	return nil
}

// configure states the route's HTTP filters: those of its own fields and, in place of these, those of its levels. The
// merged settings of policies at a rule contain the rule's own fields.
func (r statedRule) configure(route *routev3.Route, f model.Filters, s *model.Session, out bool) {
	route.TypedPerFilterConfig = httpfilters.Config(httpfilters.Route, httpfilters.Join(ownSettings(f, s, out),
		r.Settings))
}

// shares names the clusters that share a rule's requests; nil if none takes any.
func shares(of model.ObjectRef, backends []model.WeightedBackend) *routev3.RouteAction {
	var total, invalid uint64
	var valid []model.WeightedBackend
	for _, b := range backends {
		total += uint64(b.Weight)
		switch {
		case b.Invalid:
			invalid += uint64(b.Weight)
		case b.Weight > 0:
			valid = append(valid, b)
		}
	}
	if len(valid) == 0 {
		return nil
	}
	if len(valid) == 1 && invalid == 0 {
		return &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: clusterName(valid[0].Backend)}}
	}
	// Envoy wants a total that fits 32 bits. No share is scaled down to nothing.
	divisor := total/(math.MaxUint32-uint64(len(backends))) + 1
	scaled := func(w uint64) *wrapperspb.UInt32Value {
		return wrapperspb.UInt32(uint32(max(w/divisor, 1)))
	}
	weighted := &routev3.WeightedCluster{}
	for _, b := range valid {
		weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{
			Name: clusterName(b.Backend), Weight: scaled(uint64(b.Weight)),
		})
	}
	action := &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted}}
	if invalid > 0 {
		weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{
			Name: invalidCluster, Weight: scaled(invalid),
		})
		action.ClusterNotFoundResponseCode = routev3.RouteAction_INTERNAL_SERVER_ERROR
		if status, _ := of.Kind().Failure(); status == 503 {
			action.ClusterNotFoundResponseCode = routev3.RouteAction_SERVICE_UNAVAILABLE
		}
	}
	return action
}

// failure answers what a route does that can't serve.
func failure(route model.ObjectRef) *routev3.Route {
	status, _ := route.Kind().Failure()
	return statusRoute(uint32(status))
}

// statusRoute answers with a status and nothing else.
func statusRoute(code uint32) *routev3.Route {
	return &routev3.Route{Action: &routev3.Route_DirectResponse{
		DirectResponse: &routev3.DirectResponseAction{Status: code},
	}}
}
