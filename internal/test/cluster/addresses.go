package cluster

import "net/netip"

// The addresses of a cluster. They are the same in each cluster, since each has its own network.
var (
	// NodeAddress is the address of the API server and the kubelet, and the source of the node's own connections.
	NodeAddress = netip.MustParseAddr("10.95.0.1")
	// ServiceRange has the ClusterIPs. The first address is the API server's.
	ServiceRange = netip.MustParsePrefix("10.96.0.0/16")
	// LoadBalancerRange has the addresses of LoadBalancer Services. An address outside it can't be used.
	LoadBalancerRange = netip.MustParsePrefix("10.97.0.0/16")
	// PodRange has the pods' addresses.
	PodRange = netip.MustParsePrefix("10.98.0.0/16")
	// DNSAddress is the address of the cluster's DNS server.
	DNSAddress = netip.MustParseAddr("10.96.0.10")
)

const (
	apiServerPort = 6443
	kubeletPort   = 10250
	etcdPort      = 2379
)
