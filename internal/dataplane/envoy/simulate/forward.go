package simulate

import (
	"net/http"
	"strconv"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/request"
)

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// forwarding is a route that sends requests to clusters.
type forwarding struct {
	route   *routev3.Route
	action  *routev3.RouteAction
	edits   routeEdits
	mirrors []Mirror
	limits  request.Limits
	filterEffects
}

// forwardToClusters sends the request to the clusters that share it.
func (s *simulation) forwardToClusters(way forwarding) {
	a := way.action
	s.noteUnknownFields(a, "cluster", "weighted_clusters", "cluster_header", "cluster_not_found_response_code",
		"prefix_rewrite",
		"regex_rewrite",
		"path_rewrite", "host_rewrite_literal", "host_rewrite_header", "append_x_forwarded_host", "request_mirror_policies",
		"priority",
		"metadata_match", "max_grpc_timeout", "grpc_timeout_offset", "timeout", "retry_policy")
	way.mirrors, way.limits = s.mirrorsOf(a), s.readLimits(a)
	switch c := a.GetClusterSpecifier().(type) {
	case *routev3.RouteAction_Cluster:
		s.sendToCluster(way, c.Cluster, nil, 1)
	case *routev3.RouteAction_ClusterHeader:
		name, _ := s.current.HeaderValue(c.ClusterHeader)
		s.sendToCluster(way, name, nil, 1)
	case *routev3.RouteAction_WeightedClusters:
		s.noteUnknownFields(c.WeightedClusters, "clusters", "total_weight", "runtime_key_prefix")
		var total float64
		for _, w := range c.WeightedClusters.GetClusters() {
			total += float64(w.GetWeight().GetValue())
		}
		for _, w := range c.WeightedClusters.GetClusters() {
			s.noteUnknownFields(w, "name", "weight", "request_headers_to_add", "request_headers_to_remove",
				"response_headers_to_add",
				"response_headers_to_remove", "host_rewrite_literal", "typed_per_filter_config")
			for name := range w.GetTypedPerFilterConfig() {
				s.noteNotSimulated(name)
			}
			if w.GetWeight().GetValue() > 0 {
				s.sendToCluster(way, w.GetName(), w, float64(w.GetWeight().GetValue())/total)
			}
		}
	default:
		s.setUndecided("RouteAction.cluster_specifier")
	}
}

// mirrorsOf are the clusters that get copies, those that are there.
func (s *simulation) mirrorsOf(a *routev3.RouteAction) (list []Mirror) {
	for _, mirror := range a.GetRequestMirrorPolicies() {
		s.noteUnknownFields(mirror, "cluster", "runtime_fraction", "trace_sampled", "disable_shadow_host_suffix_append",
			"request_headers_mutations")
		m := Mirror{Cluster: mirror.GetCluster(), Share: 1}
		if f := mirror.GetRuntimeFraction().GetDefaultValue(); f != nil {
			m.Share = min(float64(f.GetNumerator())/float64(denominatorOf(f)), 1)
		}
		list = append(list, m)
	}
	return list
}

// sendToCluster adds the outcome of a share that goes to a cluster. w is nil if the route has one cluster.
func (s *simulation) sendToCluster(
	way forwarding, cluster string, w *routev3.WeightedCluster_ClusterWeight, share float64,
) {
	a, edits := way.action, way.edits
	o := Outcome{
		Route: way.route.GetName(), Match: way.route.GetMatch(), Cluster: cluster, Mirrors: way.mirrors,
		Effect: request.Effect{Share: share},
	}
	if found := s.resolveEndpoints(&o); !found {
		o.Status, o.Mirrors = notFoundStatus(a.GetClusterNotFoundResponseCode()), nil
	}
	if o.Status != 0 {
		o.Header = way.applyEdits(o.Status, o.Header)
		s.addOutcome(o)
		return
	}
	if o.Limits = way.limits; !allowsRetries(s.config.clusters[cluster]) {
		o.Limits.Retries, o.Limits.On = 0, nil
	}
	if way.session != nil {
		s.keepSession(way.session, &o)
	}
	o.Gates = append(o.Gates, way.pickerGates()...)
	if w != nil {
		edits = edits.withLevel(w)
	}
	sent := way.changeRequest(s.current)
	for _, e := range s.resolveEdits(edits.requestEdits(), formatter{source: sent}) {
		e.ApplyTo(sent.Header)
	}
	if w.GetHostRewriteLiteral() != "" && a.GetHostRewriteSpecifier() != nil {
		s.noteNotSimulated("ClusterWeight.host_rewrite_literal")
	}
	joinHeaders(sent.Header)
	s.rewriteHost(&sent, a, w.GetHostRewriteLiteral())
	s.rewritePath(&sent, a, way.route.GetMatch())
	s.applyUpstreamFilters(cluster, &sent)
	o.Request, o.Arrived = &sent, s.current.Header
	o.Response = withDate(append(s.resolveEdits(edits.responseEdits(), formatter{source: s.current}),
		way.responseEdits...))
	s.addOutcome(o)
}

func notFoundStatus(code routev3.RouteAction_ClusterNotFoundResponseCode) int {
	switch code {
	case routev3.RouteAction_NOT_FOUND:
		return http.StatusNotFound
	case routev3.RouteAction_INTERNAL_SERVER_ERROR:
		return http.StatusInternalServerError
	}
	return http.StatusServiceUnavailable
}
