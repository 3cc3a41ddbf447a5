package envoy

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	overridehostv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// poolLoadBalancing is how a pool's endpoints are chosen; nil for a backend that is none. Where nobody picks, or may be
// gone without, the proxy chooses, by what policies state or the number of requests. Where the picker has to answer,
// there is nothing to fall back to: a request without its word, or for an endpoint that is not the pool's, gets a 503.
func poolLoadBalancing(p *model.Pool, stated *clusterv3.LoadBalancingPolicy) *clusterv3.LoadBalancingPolicy {
	if p == nil {
		return nil
	}
	own := stated
	if own == nil {
		own = loadBalancingPolicy("least_request", &leastrequestv3.LeastRequest{})
	}
	if !p.HasPicker() {
		return own
	}
	if !p.FailOpen {
		own = loadBalancingPolicy("none", &subsetv3.Subset{
			FallbackPolicy: subsetv3.Subset_NO_FALLBACK, SubsetLbPolicy: own,
		})
	}
	key := func(name string) *metadatav3.MetadataKey {
		return &metadatav3.MetadataKey{Key: model.DestinationNamespace, Path: []*metadatav3.MetadataKey_PathSegment{{
			Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: name},
		}}}
	}
	return loadBalancingPolicy("picked", &overridehostv3.OverrideHost{
		OverrideHostSources: []*overridehostv3.OverrideHost_OverrideHostSource{
			{Metadata: key(model.DestinationHeader)}, {Header: model.DestinationHeader},
		},
		SelectedHostKey: key(route.ServedKey),
		FallbackPolicy:  own,
	})
}

func loadBalancingPolicy(name string, config proto.Message) *clusterv3.LoadBalancingPolicy {
	return &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
		TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: name, TypedConfig: message.MustAny(config)},
	}}}
}

// pickerCluster is the cluster of a pool's picker. A picker that does not accept connections is not asked: Envoy fails
// open only while no endpoint is healthy, since a request is lost once its body was handed over.
func pickerCluster(b model.Backend) *clusterv3.Cluster {
	c := commonCluster(b.Protocol)
	proto.Merge(c, renderCluster(b))
	c.ConnectTimeout = durationpb.New(pickerConnectTimeout)
	c.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{}}
	c.IgnoreHealthOnHostRemoval = true
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout: durationpb.New(pickerCheckTimeout), Interval: durationpb.New(pickerCheckInterval),
		NoTrafficInterval: durationpb.New(pickerCheckInterval), UnhealthyThreshold: wrapperspb.UInt32(1),
		HealthyThreshold: wrapperspb.UInt32(1),
		HealthChecker:    &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}},
	}}
	return c
}

// Settings of connections to pickers.
const (
	pickerConnectTimeout = 250 * time.Millisecond
	pickerCheckInterval  = time.Second
	pickerCheckTimeout   = 500 * time.Millisecond
)
