// Package xdstypes has the types of Envoy's resources: their numbers, names and type URLs.
//
// It owns this list, in the order in which additions are sent. It must never know what is in a resource, nor how a type
// travels: package envoy says so (Protocol). It is a constant table, which any goroutine may read.
package xdstypes

import "cardea.dev/cardea/internal/core/resource"

// The types. Envoy makes filter chains and clusters with the certificates that it was sent before, so these go first;
// and it drops a route table, or an extension, that no listener names yet.
const (
	Secret    resource.Type = iota // envoy.extensions.transport_sockets.tls.v3.Secret
	Cluster                        // envoy.config.cluster.v3.Cluster
	Endpoints                      // envoy.config.endpoint.v3.ClusterLoadAssignment
	Listener                       // envoy.config.listener.v3.Listener
	Extension                      // envoy.config.core.v3.TypedExtensionConfig: the configuration of a filter of listeners
	Routes                         // envoy.config.route.v3.RouteConfiguration
)

// Count is how many types there are.
const Count = int(Routes) + 1

const prefix = "type.googleapis.com/envoy."

var names = [Count]string{"Secret", "Cluster", "Endpoints", "Listener", "Extension", "Routes"}

var urls = [Count]string{
	prefix + "extensions.transport_sockets.tls.v3.Secret", prefix + "config.cluster.v3.Cluster",
	prefix + "config.endpoint.v3.ClusterLoadAssignment", prefix + "config.listener.v3.Listener",
	prefix + "config.core.v3.TypedExtensionConfig", prefix + "config.route.v3.RouteConfiguration",
}

// All lists the types.
func All() (list []resource.Type) {
	for t := range Count {
		list = append(list, resource.Type(t))
	}
	return list
}

// Name is the short name of a type.
func Name(t resource.Type) string { return names[t] }

// URL is the type URL of a type's resources.
func URL(t resource.Type) string { return urls[t] }

// OfURL finds the type of a type URL.
func OfURL(url string) (resource.Type, bool) {
	for t, known := range urls {
		if known == url {
			return resource.Type(t), true
		}
	}
	return 0, false
}
