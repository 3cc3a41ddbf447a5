package envoy

import (
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// LocalCluster is the cluster of a Gateway's own proxies. Nothing is sent to it: limits that they share are divided by
// the number of its members. Envoy wants it in the bootstrap; no cluster of a backend has a name without a slash.
const LocalCluster = "local"

// localWait is how long a start waits for the members. Until they are known a limit is not divided.
const localWait = 2 * time.Second

// alone is the cluster of a proxy that is the only one of its Gateway.
func alone() *clusterv3.Cluster { return staticCluster(LocalCluster, socketAddress("127.0.0.1", 1)) }

// beside is the cluster of a proxy that may be one of several.
func beside(members *corev3.ConfigSource) *clusterv3.Cluster {
	members.InitialFetchTimeout = seconds(localWait)
	return &clusterv3.Cluster{
		Name: LocalCluster, ConnectTimeout: seconds(connectTimeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: members},
	}
}

// withLocal puts the cluster into a bootstrap.
func withLocal(b *bootstrapv3.Bootstrap, local *clusterv3.Cluster) {
	b.ClusterManager = &bootstrapv3.ClusterManager{LocalClusterName: LocalCluster}
	if b.StaticResources == nil {
		b.StaticResources = new(bootstrapv3.Bootstrap_StaticResources)
	}
	b.StaticResources.Clusters = append(b.StaticResources.Clusters, local)
}

// members has the members of the local cluster of each Gateway that has several proxies: as many as there are. Their
// addresses are of no use, and differ.
func members(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	return flow.Rename(p.Running, "envoy/members", func(gateway model.ObjectRef) resource.Key {
		return resource.Key{Gateway: gateway, Type: resource.Endpoints, Name: LocalCluster}
	}, func(c *flow.Ctx, gateway model.ObjectRef, proxies int32) (resource.Resource, bool) {
		if g, found := flow.Fetch(c, p.Gateways, gateway); !found || !ours(g.DataPlane) {
			return resource.Resource{}, false
		}
		var list []model.Endpoint
		for i := range proxies {
			list = append(list, model.Endpoint{Address: "127.0.0.1", Port: i + 1})
		}
		return resource.Join(newPart("", mustMarshal(assignment(LocalCluster, list)))), true
	})
}
