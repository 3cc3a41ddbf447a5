package jsonlines

import (
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// DataPlane is how Gateways and features name it.
var DataPlane = model.DataPlane{Name: "JSONLines"}

// The types of its resources.
const (
	Backends  resource.Type = iota // a line for each backend
	Listeners                      // a line for each listener
	Routes                         // a table for each listener: a part for each domain, a line for each match of a rule
)

// Dialect is the data plane.
func Dialect() dataplane.Dialect {
	return dataplane.Dialect{
		Name: DataPlane, Proxy: "Reader of lines", Render: render, Policies: renderer{},
		Protocol: resource.Protocol{Types: resource.AllTypes{
			Backends:  {Name: "Backend", List: "backends", UsedBy: []resource.Type{Routes}},
			Listeners: {Name: "Listener", List: "listeners", Role: resource.Listening},
			Routes:    {Name: "Routes", List: "routes", Role: resource.Routing, Awaits: []resource.Type{Backends}},
		}},
	}
}
