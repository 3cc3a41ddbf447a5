// Package services makes Services reachable: it listens on their addresses and forwards each connection to one of their
// endpoints, gives LoadBalancer Services an address, and answers DNS queries for their names.
//
// It owns the listening sockets, the range of load balancer addresses and the cluster's DNS. It must never know pods:
// it reads only Services and EndpointSlices. Call New, then Run; there are no other methods.
//
// Start reading at Services.Run and Services.sync.
package services
