package dataplane

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// Dialect is one data plane.
type Dialect struct {
	Name    model.DataPlane
	Proxy   string // what users call its proxy: "Envoy"
	Version string // of the proxy that it renders for, and the oldest that is run unasked: "1.40.0"

	// Protocol has the types of its resources, and how they reach its proxies.
	Protocol resource.Protocol
	// Protocols are those of listeners that it serves; none stated: HTTP and HTTPS.
	Protocols []model.Protocol
	// RenderedBy is the data plane that renders this one's resources, too; none: its own Render does.
	RenderedBy model.DataPlane
	// Render adds the stages that render a plan to a graph. Feedback has what the proxies said of it.
	Render func(*flow.Graph, plan.Plan, *resource.Feedback) resource.Outputs
	// Policies renders features of policies.
	Policies plan.Renderer
	// Simulate makes an excerpt of a Gateway's configuration ready to be asked. It takes time: no View should be open.
	Simulate func(*resource.Excerpt, request.Gates) (request.Simulation, error)

	// RouteTable is the route table that a listener's requests are looked up in.
	RouteTable func(model.Listener) resource.Key
	// BackendResource is the resource that says where a backend is and how it is spoken to.
	BackendResource func(plan.BackendKey) resource.Key
	// DescribeTable is where a route table serves, for users: a port, for HTTPS with the listener ("443/shop").
	DescribeTable func(table resource.Key) string
	// Describe prints a resource as JSON, the same for the same resource. Private keys are left out.
	Describe func(resource.Type, resource.Resource) ([]byte, error)

	// Files is how its proxies are fed by files; nil: a server feeds them.
	Files *Files

	Child ChildProcess
	Pod   Pod
}
