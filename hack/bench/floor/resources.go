package floor

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// All flattens the current resources of these types of a world, by type URL.
func All(w *world.World, types ...resource.Type) map[string][]*discoveryv3.Resource {
	list := map[string][]*discoveryv3.Resource{}
	w.Graph.View(func(v flow.View) {
		for _, c := range w.Outputs.Resources {
			for key, r := range flow.All(v, c) {
				for _, t := range types {
					if key.Type == t {
						list[xdstypes.URL(t)] = append(list[xdstypes.URL(t)], &discoveryv3.Resource{
							Name: key.Name, Version: r.Version, Resource: &anypb.Any{TypeUrl: xdstypes.URL(t), Value: r.AppendBytes(nil)},
						})
					}
				}
			}
		}
	})
	return list
}

// Table is the one current route table of a world; version is the version to give it.
func Table(w *world.World, version string) *discoveryv3.Resource {
	table := All(w, xdstypes.Routes)[xdstypes.URL(xdstypes.Routes)][0]
	table.Version = version
	return table
}
