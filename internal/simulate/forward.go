package simulate

import (
	"net/http"
	"strconv"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// forward sends the request to the clusters that share it.
func (s *simulation) forward(a *routev3.RouteAction, m *routev3.RouteMatch, edits routeEdits) {
	s.survey(a, "cluster", "weighted_clusters", "cluster_header", "cluster_not_found_response_code", "prefix_rewrite", "regex_rewrite",
		"path_rewrite", "host_rewrite_literal", "host_rewrite_header", "append_x_forwarded_host", "request_mirror_policies", "priority",
		"metadata_match", "max_grpc_timeout", "grpc_timeout_offset", "timeout")
	if a.GetTimeout().AsDuration() > 0 {
		s.missing("RouteAction.timeout")
	}
	for _, mirror := range a.GetRequestMirrorPolicies() {
		s.survey(mirror, "cluster", "runtime_fraction", "trace_sampled")
		share := 1.0
		if f := mirror.GetRuntimeFraction().GetDefaultValue(); f != nil {
			share = min(float64(f.GetNumerator())/float64(denominator(f)), 1)
		}
		s.result.Mirrors = append(s.result.Mirrors, Mirror{Cluster: mirror.GetCluster(), Share: share})
	}
	switch c := a.GetClusterSpecifier().(type) {
	case *routev3.RouteAction_Cluster:
		s.send(a, m, edits, c.Cluster, nil, 1)
	case *routev3.RouteAction_ClusterHeader:
		name, _ := s.request.header(c.ClusterHeader)
		s.send(a, m, edits, name, nil, 1)
	case *routev3.RouteAction_WeightedClusters:
		s.survey(c.WeightedClusters, "clusters", "total_weight", "runtime_key_prefix")
		var total float64
		for _, w := range c.WeightedClusters.GetClusters() {
			total += float64(w.GetWeight().GetValue())
		}
		for _, w := range c.WeightedClusters.GetClusters() {
			s.survey(w, "name", "weight", "request_headers_to_add", "request_headers_to_remove", "response_headers_to_add",
				"response_headers_to_remove", "host_rewrite_literal", "typed_per_filter_config")
			for name := range w.GetTypedPerFilterConfig() {
				s.missing(name)
			}
			if w.GetWeight().GetValue() > 0 {
				s.send(a, m, edits, w.GetName(), w, float64(w.GetWeight().GetValue())/total)
			}
		}
	default:
		s.undecided("RouteAction.cluster_specifier")
	}
}

// send adds a destination.
func (s *simulation) send(
	a *routev3.RouteAction, m *routev3.RouteMatch, edits routeEdits, cluster string, w *routev3.WeightedCluster_ClusterWeight, share float64,
) {
	d := Destination{Cluster: cluster, Share: share}
	found := s.reach(&d)
	if !found {
		d.Status = notFoundStatus(a.GetClusterNotFoundResponseCode())
		s.deliver(d)
		return
	}
	if w != nil {
		edits = edits.with(w)
	}
	request := s.request.clone()
	for _, e := range s.edits(edits.request(), formats{request: s.request}) {
		e.Apply(request.Header)
	}
	if w.GetHostRewriteLiteral() != "" && a.GetHostRewriteSpecifier() != nil {
		s.missing("ClusterWeight.host_rewrite_literal")
	}
	s.rewriteHost(&request, a, w.GetHostRewriteLiteral())
	s.rewritePath(&request, a, m)
	d.Request = request
	d.Response = s.edits(edits.response(), formats{request: s.request})
	s.deliver(d)
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
