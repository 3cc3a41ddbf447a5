package simulate

import (
	"fmt"
	"net"
	"net/http"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"cardea.dev/cardea/internal/core/request"
)

// resolveEndpoints finds the endpoints of an outcome's cluster; 503 if it has none. It is false if there is no such
// cluster.
func (s *simulation) resolveEndpoints(o *Outcome) bool {
	c, found := s.config.clusters[o.Cluster]
	if !found {
		return false
	}
	s.noteUnknownFields(c, "name", "alt_stat_name", "type", "cluster_type", "eds_cluster_config", "load_assignment",
		"lb_policy",
		"connect_timeout",
		"per_connection_buffer_limit_bytes", "circuit_breakers", "typed_extension_protocol_options", "wait_for_warm_on_init",
		"dns_lookup_family", "respect_dns_ttl", "dns_refresh_rate", "upstream_connection_options", "metadata",
		"load_balancing_policy", "health_checks", "outlier_detection", "common_lb_config")
	s.noteHealthChecks(o, c)
	assignment := c.GetLoadAssignment()
	switch {
	case c.GetClusterType() != nil:
		if c.GetClusterType().GetName() != "envoy.clusters.dns" {
			s.noteNotSimulated(c.GetClusterType().GetName())
		}
		o.Named = true
	case c.GetType() == clusterv3.Cluster_STRICT_DNS, c.GetType() == clusterv3.Cluster_LOGICAL_DNS:
		o.Named = true
	case c.GetType() == clusterv3.Cluster_EDS:
		name := c.GetEdsClusterConfig().GetServiceName()
		if name == "" {
			name = c.GetName()
		}
		assignment = s.config.endpoints[name]
	case c.GetType() == clusterv3.Cluster_STATIC:
	default:
		s.noteNotSimulated("Cluster.type " + c.GetType().String())
	}
	o.Endpoints = s.healthyEndpoints(assignment)
	limits := defaultLimits(c)
	if len(o.Endpoints) == 0 || limits.GetMaxRequests() != nil && limits.GetMaxRequests().GetValue() == 0 {
		o.Endpoints, o.Status, o.Health, o.Gates = nil, 503, nil, nil
	}
	return true
}

// noteHealthChecks tells by what some endpoints may get no request. Only the proxy knows which.
func (s *simulation) noteHealthChecks(o *Outcome, c *clusterv3.Cluster) {
	if len(c.GetHealthChecks()) > 0 {
		o.Health = append(o.Health, "endpoints that fail a health check get no requests")
	}
	if c.GetOutlierDetection() != nil {
		o.Health = append(o.Health, "endpoints whose answers fail get no requests for a while")
	}
	s.noteUnknownFields(c.GetCommonLbConfig(), "healthy_panic_threshold")
	if len(o.Health) == 0 {
		return
	}
	percent := 50.0 // Envoy's
	if stated := c.GetCommonLbConfig().GetHealthyPanicThreshold(); stated != nil {
		percent = stated.GetValue()
	}
	if percent == 0 {
		o.Gates = append(o.Gates, request.Verdict{Status: http.StatusServiceUnavailable, If: "an endpoint is healthy"})
		return
	}
	o.Health = append(o.Health, fmt.Sprintf("all endpoints get requests while fewer than %g%% are healthy", percent))
}

// applyUpstreamFilters does to a request what the filters of its cluster do.
func (s *simulation) applyUpstreamFilters(cluster string, sent *request.Request) {
	packed := s.config.clusters[cluster].GetTypedExtensionProtocolOptions()[httpOptions]
	options := new(upstreamv3.HttpProtocolOptions)
	if packed == nil {
		return
	}
	if err := packed.UnmarshalTo(options); err != nil {
		s.noteNotSimulated(httpOptions)
		return
	}
	for _, f := range options.GetHttpFilters() {
		injector, generic := new(injectorv3.CredentialInjector), new(genericv3.Generic)
		mutation := new(headermutationv3.HeaderMutation)
		switch {
		case shortType(f.GetTypedConfig().GetTypeUrl()) == "UpstreamCodec":
		case f.GetTypedConfig().UnmarshalTo(mutation) == nil:
			var of filterEffects
			s.applyMutations(f.GetName(), mutation.GetMutations(), &of)
			for _, e := range of.requestEdits {
				e.ApplyTo(sent.Header)
			}
		case f.GetTypedConfig().UnmarshalTo(injector) != nil,
			injector.GetCredential().GetTypedConfig().UnmarshalTo(generic) != nil:
			s.noteNotSimulated(f.GetName())
		default:
			do := request.Default
			if injector.GetOverwrite() {
				do = request.Set
			}
			request.HeaderChange{Action: do, Name: generic.GetHeader(), Value: generic.GetHeaderValuePrefix() +
				request.SecretValue}.ApplyTo(
				sent.Header)
		}
	}
}

// httpOptions is where a cluster has its HTTP filters.
const httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// allowsRetries tells whether a cluster takes retries. A limit lets requests through depending on how many are under
// way; a limit of 0 lets none through.
func allowsRetries(c *clusterv3.Cluster) bool {
	limits := defaultLimits(c)
	return limits.GetMaxRetries() == nil || limits.GetMaxRetries().GetValue() > 0 || limits.GetRetryBudget() != nil
}

// defaultLimits are those of requests of the usual priority; nil: none are stated.
func defaultLimits(c *clusterv3.Cluster) *clusterv3.CircuitBreakers_Thresholds {
	for _, t := range c.GetCircuitBreakers().GetThresholds() {
		if t.GetPriority() == corev3.RoutingPriority_DEFAULT {
			return t
		}
	}
	return nil
}

// healthyEndpoints are the endpoints that can get requests: those in the best priority that has one.
func (s *simulation) healthyEndpoints(a *endpointv3.ClusterLoadAssignment) []string {
	byPriority := map[uint32][]string{}
	unhealthy := 0
	for _, locality := range a.GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			switch e.GetHealthStatus() {
			case corev3.HealthStatus_UNKNOWN, corev3.HealthStatus_HEALTHY, corev3.HealthStatus_DEGRADED:
				socket := e.GetEndpoint().GetAddress().GetSocketAddress()
				byPriority[locality.GetPriority()] = append(byPriority[locality.GetPriority()],
					net.JoinHostPort(socket.GetAddress(), itoa(socket.GetPortValue())))
			default:
				unhealthy++
			}
		}
	}
	if unhealthy > 0 {
		s.noteNotSimulated("endpoints that are not healthy")
	}
	best := []string(nil)
	for p := uint32(0); p < 128 && best == nil; p++ {
		best = byPriority[p]
	}
	slices.Sort(best)
	return slices.Compact(best)
}
