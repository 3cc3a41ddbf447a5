package testcluster

import "net/netip"

// The addresses of a cluster. They are the same in each, for each is alone in its network.
var (
	// NodeAddress is where the API server and the kubelet listen, and where the node's own connections come from.
	NodeAddress = netip.MustParseAddr("10.95.0.1")
	// ServiceRange holds the ClusterIPs. The first address is the API server's.
	ServiceRange = netip.MustParsePrefix("10.96.0.0/16")
	// LoadBalancerRange holds the addresses of LoadBalancer Services. One that is not in it can't be had.
	LoadBalancerRange = netip.MustParsePrefix("10.97.0.0/16")
	// PodRange holds the pods' addresses.
	PodRange = netip.MustParsePrefix("10.98.0.0/16")
	// DNSAddress is where the names of Services are answered.
	DNSAddress = netip.MustParseAddr("10.96.0.10")
)

const (
	apiServerPort = 6443
	kubeletPort   = 10250
	etcdPort      = 2379
)
