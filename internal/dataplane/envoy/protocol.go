package envoy

import (
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/redact"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// Protocol says how Envoy's resources travel, as measured on Envoy 1.40.
func Protocol() resource.Protocol {
	list := slices.Clone(typeSpecs[:])
	for i := range list {
		list[i].Name, list[i].URL = xdstypes.Name(resource.Type(i)), xdstypes.URL(resource.Type(i))
	}
	return resource.Protocol{Types: list, Trials: trialBuilder{}, Refusals: redact.RefusalParser{}}
}

var typeSpecs = [xdstypes.Count]resource.TypeSpec{
	xdstypes.Secret: {
		List: "secrets", Role: resource.Certificate,
		ByName: true, OnePerResponse: true, Embedded: []resource.Type{xdstypes.Cluster, xdstypes.Listener},
		UsedBy: []resource.Type{xdstypes.Cluster, xdstypes.Listener},
	},
	xdstypes.Cluster: {
		List:   "clusters",
		UsedBy: []resource.Type{xdstypes.Listener, xdstypes.Extension, xdstypes.Routes},
	},
	xdstypes.Endpoints: {
		List:   "endpoints",
		ByName: true, Push: resource.EachChange,
		UsedBy: []resource.Type{xdstypes.Cluster},
		Placeholder: func(name string, _ bool) []byte {
			return message.MustMarshal(&endpointv3.ClusterLoadAssignment{ClusterName: name})
		},
	},
	xdstypes.Listener: {
		List: "listeners", Role: resource.Listening,
		OneInFlight: true, Removal: resource.WithAddition,
		Divisible: true, TrialType: xdstypes.Listener, KeepsParts: true,
	},
	xdstypes.Extension: {
		List: "extensions", Role: resource.Entries,
		ByName: true, OnePerResponse: true, Push: resource.FirstUser, Embedded: []resource.Type{xdstypes.Listener},
		HasDefault: true, Removal: resource.NeverRemoved, Head: extensionHead,
		Divisible: true, TrialType: xdstypes.Listener,
		UsedBy: []resource.Type{xdstypes.Listener, xdstypes.Routes},
	},
	xdstypes.Routes: {
		List: "routes", Role: resource.Routing,
		ByName: true, OnePerResponse: true, OneInFlight: true, Removal: resource.NeverRemoved,
		Awaits:    []resource.Type{xdstypes.Cluster, xdstypes.Extension},
		Divisible: true, TrialType: xdstypes.Routes, Placeholder: emptyTable,
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
	return message.MustMarshal(t)
}
