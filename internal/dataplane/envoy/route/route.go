// Package route renders what a rule does to routes of Envoy: matches, redirects and rewrites, backends and their
// shares, retries, and the configuration of HTTP filters.
//
// It owns the chain of HTTP filters with their scripts, and how settings of policies replace what a rule says. It must
// never know in which table or virtual host a route stands, or what proxies refused: package envoy joins the bytes of
// rules. Its functions are pure. Start reading at RenderRule.
package route

import (
	"math"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
)

// RenderRule renders what a rule does with the requests of one of its matches: one route or, where a backend has
// filters or sessions of its own, one for each backend that takes a share of the requests.
func RenderRule(r Rule, m model.PathMatch, at ListenerContext) ([]*routev3.Route, error) {
	switch {
	case r.Error != 0:
		return []*routev3.Route{DirectResponseRoute(uint32(r.Error))}, nil
	case r.Redirect == nil && !r.PolicyAnswers && r.needsOwnRoutes():
		return shareRoutes(r, m, at)
	}
	route, err := filteredRoute(r, r.Filters, r.Backends, m, at)
	return []*routev3.Route{route}, err
}

// filteredRoute renders what becomes of the requests that some filters take to some backends.
func filteredRoute(
	r Rule, f model.Filters, backends []model.WeightedBackend, m model.PathMatch, at ListenerContext,
) (*routev3.Route, error) {
	if err := checkAuth(f.Auth); err != nil {
		return nil, err
	}
	route := &routev3.Route{}
	response, removeResponse := headerOptions(f.ResponseHeaders)
	route.ResponseHeadersToRemove = removeResponse
	if f.Redirect != nil {
		action, mend, err := renderRedirect(f.Redirect, m, at)
		if err != nil {
			return nil, err
		}
		if mend != nil { // before the user's own, which may replace it
			route.ResponseHeadersToAdd = append(route.ResponseHeadersToAdd, mend)
		}
		route.Action = &routev3.Route_Redirect{Redirect: action}
		r.configureFilters(route, f, nil, reachesHostname(f, nil))
		// what it answers is among the fields that overlay puts in; if there is nothing, it is an error
	} else if r.PolicyAnswers {
		route.Action = FailureRoute(r.Key.Route).Action
		r.configureFilters(route, f, nil, reachesHostname(f, nil))
	} else if err := forwardRoute(route, r, f, backends, m); err != nil {
		return nil, err
	}
	route.ResponseHeadersToAdd = append(route.ResponseHeadersToAdd, response...)
	return route, r.overlayRoute(route)
}

// forwardRoute renders a rule that sends requests to backends, or answers an error if it has none that takes any.
func forwardRoute(
	route *routev3.Route, r Rule, f model.Filters, backends []model.WeightedBackend, m model.PathMatch,
) error {
	action := weightedClusters(r.Key.Route, backends)
	if action == nil {
		route.Action = FailureRoute(r.Key.Route).Action
		return nil
	}
	action.Timeout = durationpb.New(r.Timeouts.Request) // 0 is none; where nothing is said, Envoy's own limit is 15 s
	action.RetryPolicy = retryPolicy(r.Timeouts, r.Retry)
	action.RequestMirrorPolicies = MirrorPolicies(f.Mirrors)
	route.RequestHeadersToAdd, route.RequestHeadersToRemove = headerOptions(f.RequestHeaders)
	if f.Rewrite != nil {
		if f.Rewrite.Hostname != "" {
			action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: f.Rewrite.Hostname}
		}
		edit, err := editPath(f.Rewrite.Path, m)
		if err != nil {
			return err
		}
		action.PathRewrite, action.PrefixRewrite, action.RegexRewrite = escapeFormat(edit.whole), edit.prefix, edit.regex
	}
	route.Action = &routev3.Route_Route{Route: action}
	out := reachesHostname(f, backends)
	if out {
		route.RequestHeadersToAdd = append(route.RequestHeadersToAdd, hopHeader())
	}
	r.configureFilters(route, f, r.Session, out)
	return nil
}

// configureFilters states the route's HTTP filters: those of its own fields and, in place of these, those of its
// levels. The merged settings of policies at a rule contain the rule's own fields.
func (r Rule) configureFilters(route *routev3.Route, f model.Filters, s *model.Session, out bool) {
	route.TypedPerFilterConfig = httpfilters.EncodeSettings(httpfilters.Route, httpfilters.Join(ruleFilterSettings(f, s,
		out),
		r.Settings))
}

// weightedClusters names the clusters that share a rule's requests; nil if none takes any.
func weightedClusters(of model.ObjectRef, backends []model.WeightedBackend) *routev3.RouteAction {
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
		return &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: naming.Cluster(valid[0].Backend)}}
	}
	// Envoy wants a total that fits 32 bits. No share is scaled down to nothing.
	divisor := total/(math.MaxUint32-uint64(len(backends))) + 1
	scaled := func(w uint64) *wrapperspb.UInt32Value {
		return wrapperspb.UInt32(uint32(max(w/divisor, 1)))
	}
	weighted := &routev3.WeightedCluster{}
	for _, b := range valid {
		weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{
			Name: naming.Cluster(b.Backend), Weight: scaled(uint64(b.Weight)),
		})
	}
	action := &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted}}
	if invalid > 0 {
		weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{
			Name: naming.InvalidCluster, Weight: scaled(invalid),
		})
		action.ClusterNotFoundResponseCode = routev3.RouteAction_INTERNAL_SERVER_ERROR
		if status, _ := of.Kind().FailureStatus(); status == 503 {
			action.ClusterNotFoundResponseCode = routev3.RouteAction_SERVICE_UNAVAILABLE
		}
	}
	return action
}

// FailureRoute answers what a route does that can't serve.
func FailureRoute(route model.ObjectRef) *routev3.Route {
	status, _ := route.Kind().FailureStatus()
	return DirectResponseRoute(uint32(status))
}

// DirectResponseRoute answers with a status and nothing else.
func DirectResponseRoute(code uint32) *routev3.Route {
	return &routev3.Route{Action: &routev3.Route_DirectResponse{
		DirectResponse: &routev3.DirectResponseAction{Status: code},
	}}
}
