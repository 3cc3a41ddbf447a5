package envoy

import (
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// clusterResources has a Cluster for each backend that a Gateway uses. If a proxy refused one that a policy has speak
// TLS, a closed one stands in its place: the proxy may still have the one of before, which may send in plain text.
func (s stages) clusterResources(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	common := map[model.BackendProtocol][]byte{}
	for _, p := range []model.BackendProtocol{model.HTTP1, model.HTTP2, model.NegotiatedHTTP} {
		common[p] = message.MustMarshal(commonCluster(p))
	}
	return flow.Rename(p.Backends, "envoy/clusters", naming.BackendResource(xdstypes.Cluster),
		func(c *flow.Ctx, k plan.BackendKey, b model.Backend) (resource.Resource, bool) {
			if !naming.IsEnvoy(b.DataPlane) || k.Backend.Carries == model.Datagrams {
				return resource.Resource{}, false
			}
			part, warms := message.NewPart("", message.MustMarshal(renderCluster(b)), common[b.Protocol]), false
			if k.Backend.Picker {
				part, warms = message.NewPart("", message.MustMarshal(pickerCluster(b))), true
			}
			stated := fetchOptional(c, p.Settings.Backends, k)
			if len(stated.From) > 0 {
				own := clusterWithSettings(b, stated.BackendFields)
				part, warms = message.NewPart("", message.MustMarshal(own)), len(own.HealthChecks)+len(stated.Secrets) > 0
			}
			part.Fragments = []resource.Fragment{naming.BackendFragment(k.Backend, part.Hash)}
			if b.TLS != nil && b.TLS.Policy != (model.ObjectRef{}) {
				if _, refused := flow.Fetch(c, s.refused, refusalKeyOf(k.Gateway, part.Fragments[0])); refused {
					b.TLS = &model.BackendTLS{Closed: "the proxy rejected it"}
					part = substituteCluster(b, part, common[b.Protocol])
				}
			}
			if b.Hostname == "" {
				// A new cluster serves once its endpoints are there; they follow it, and leave after it.
				part.Needs = []resource.Name{{Type: xdstypes.Endpoints, Name: naming.Cluster(k.Backend)}}
			}
			for _, s := range stated.Secrets {
				part.Needs = append(part.Needs, resource.Name{Type: xdstypes.Secret, Name: s.Name})
			}
			if hasClientCertificate(b.TLS) {
				part.Needs = append(part.Needs, resource.Name{Type: xdstypes.Secret, Name: naming.ClientSecret(b.TLS.Certificate)})
			}
			r := resource.JoinParts(part)
			r.Warms = warms
			return r, true
		})
}

// substituteCluster stands in place of a cluster that a proxy refused. It takes no request.
func substituteCluster(b model.Backend, cluster *resource.Part, common []byte) *resource.Part {
	part := message.NewPart("", message.MustMarshal(renderCluster(b)), common)
	part.Fragments = slices.Clone(cluster.Fragments)
	part.Fragments[0].Refused = true
	return part
}

// commonCluster is what all clusters of a protocol have. Its bytes are shared by them.
func commonCluster(p model.BackendProtocol) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		ConnectTimeout:                durationpb.New(message.ConnectTimeout),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(message.ConnectionBufferBytes),
		CircuitBreakers:               unlimitedCircuitBreakers(),
		UpstreamConnectionOptions: &clusterv3.UpstreamConnectionOptions{
			TcpKeepalive: message.TCPKeepalive(message.KeepaliveIdle, message.KeepaliveInterval),
		},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{message.HTTPOptionsName: message.MustAny(
			message.UpstreamHTTP(p))},
	}
}

// renderCluster is what a backend's cluster has of its own.
func renderCluster(b model.Backend) *clusterv3.Cluster {
	name := naming.Cluster(b.Key)
	c := &clusterv3.Cluster{
		Name: name, TransportSocket: originateTLS(b), LoadBalancingPolicy: poolLoadBalancing(b.Pool, nil),
	}
	if b.Hostname == "" {
		c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		c.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: message.ADSConfigSource()}
		return c
	}
	// The proxy looks the name up. It must not wait for the answer: a silent resolver would hold back every later
	// acknowledgement of clusters.
	c.ClusterDiscoveryType = message.DNSDiscovery(b.WholeName)
	c.WaitForWarmOnInit = wrapperspb.Bool(false)
	c.LoadAssignment = message.LoadAssignment(name, []model.Endpoint{{Address: b.Hostname, Port: b.HostPort}})
	return c
}

// unlimitedCircuitBreakers lifts Envoy's circuit breakers, which by default let 1,024 connections and requests through.
// But of the requests that are under way few may be retries, or a backend in trouble would get a multiple of its load.
func unlimitedCircuitBreakers() *clusterv3.CircuitBreakers {
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections:     wrapperspb.UInt32(message.Unlimited),
		MaxPendingRequests: wrapperspb.UInt32(message.Unlimited),
		MaxRequests:        wrapperspb.UInt32(message.Unlimited),
		RetryBudget: &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent:       &typev3.Percent{Value: message.RetryPercent},
			MinRetryConcurrency: wrapperspb.UInt32(message.MinRetries),
		},
	}}}
}

// endpointResources has a ClusterLoadAssignment for each backend that a Gateway uses, if its endpoints are known here.
// It may be empty: Envoy holds a cluster back until it gets one.
func endpointResources(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	return flow.Rename(p.Backends, "envoy/endpoints", naming.BackendResource(xdstypes.Endpoints),
		func(_ *flow.Ctx, k plan.BackendKey, b model.Backend) (resource.Resource, bool) {
			if b.Hostname != "" || !naming.IsEnvoy(b.DataPlane) || k.Backend.Carries == model.Datagrams {
				return resource.Resource{}, false
			}
			return resource.JoinParts(endpointPart(b)), true
		})
}

func endpointPart(b model.Backend) *resource.Part {
	part := message.NewPart("", message.MustMarshal(message.LoadAssignment(naming.Cluster(b.Key), b.Endpoints)))
	part.Fragments = []resource.Fragment{naming.BackendFragment(b.Key, part.Hash)}
	return part
}
