package envoy

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/resource"
)

// Protocol says how Envoy's resources travel, as measured on Envoy 1.40. It makes filter chains and clusters with the
// certificates that it was sent before, so these go first; and it drops a route table, or an extension, that no
// listener names yet.
func Protocol() resource.Protocol {
	return resource.Protocol{Types: types[:], Trials: trials{}, Refusals: refusals{}}
}

const typeURLPrefix = "type.googleapis.com/envoy."

var types = [...]resource.TypeSpec{
	{
		Type: resource.Secret, URL: typeURLPrefix + "extensions.transport_sockets.tls.v3.Secret",
		ByName: true, Alone: true, Embedded: []resource.Type{resource.Cluster, resource.Listener},
		UsedBy: []resource.Type{resource.Cluster, resource.Listener},
	},
	{
		Type: resource.Cluster, URL: typeURLPrefix + "config.cluster.v3.Cluster",
		UsedBy: []resource.Type{resource.Listener, resource.Extension, resource.Routes},
	},
	{
		Type: resource.Endpoints, URL: typeURLPrefix + "config.endpoint.v3.ClusterLoadAssignment",
		ByName: true, Follows: resource.EachChange,
		UsedBy: []resource.Type{resource.Cluster},
		Placeholder: func(name string, _ bool) []byte {
			return mustMarshal(&endpointv3.ClusterLoadAssignment{ClusterName: name})
		},
	},
	{
		Type: resource.Listener, URL: typeURLPrefix + "config.listener.v3.Listener",
		InTurn: true, Removal: resource.WithAddition,
		Divisible: true, TriedIn: resource.Listener, KeepsParts: true,
	},
	{
		Type: resource.Extension, URL: typeURLPrefix + "config.core.v3.TypedExtensionConfig",
		ByName: true, Alone: true, Follows: resource.FirstUser, Embedded: []resource.Type{resource.Listener},
		HasDefault: true, Removal: resource.Never, Head: extensionHead,
		Divisible: true, TriedIn: resource.Listener,
		UsedBy: []resource.Type{resource.Listener, resource.Routes},
	},
	{
		Type: resource.Routes, URL: typeURLPrefix + "config.route.v3.RouteConfiguration",
		ByName: true, Alone: true, InTurn: true, Removal: resource.Never,
		Awaits:    []resource.Type{resource.Cluster, resource.Extension},
		Divisible: true, TriedIn: resource.Routes, Placeholder: emptyTable,
	},
}

// emptyTable answers 404 to everything, or 503 while it is not known what will answer.
func emptyTable(name string, pending bool) []byte {
	t := &routev3.RouteConfiguration{Name: name}
	if pending {
		t.VirtualHosts = []*routev3.VirtualHost{{
			Name: "pending", Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
				Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 503}},
			}},
		}}
	}
	return mustMarshal(t)
}

// TypeURL is the type URL of a type's resources.
func TypeURL(t resource.Type) string {
	for _, spec := range types {
		if spec.Type == t {
			return spec.URL
		}
	}
	return ""
}

// TypeOf finds the type of a type URL.
func TypeOf(url string) (resource.Type, bool) {
	for _, spec := range types {
		if spec.URL == url {
			return spec.Type, true
		}
	}
	return 0, false
}
