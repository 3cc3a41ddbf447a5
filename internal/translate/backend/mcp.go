package backend

import (
	"cmp"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/api/agentic/v0alpha0"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// mcpBackendKind are the XBackends of agentic.networking.x-k8s.io: servers of tools for agents, each a port of a
// Service or a hostname, and a path.
type mcpBackendKind struct {
	objects     *input.Collection[v0alpha0.XBackendSpec]
	services    serviceKind
	environment *input.Environments
	broken      *input.BrokenObjects
}

func (in mcpBackendKind) Refer(
	c *flow.Ctx, ref model.ObjectRef, port *gatewayv1.PortNumber, carries model.Carried,
) (read Referred) {
	o, found := flow.Fetch(c, in.objects, ref)
	if !found {
		read.Unusable = problem.Unusable{Reason: "BackendNotFound", Message: input.DescribeAbsent(c, in.broken, ref)}
		return read
	}
	mcp := o.Spec.MCP
	if port != nil && int32(*port) != mcp.Port {
		read.Unusable = problem.Unusable{Reason: "UnsupportedValue", Message: fmt.Sprintf(
			"%s has port %d; leave the port of the reference out, the XBackend states it", ref, mcp.Port)}
		return read
	}
	read.MCP, read.Path = true, mcp.Path
	if mcp.Hostname != nil {
		read.External = true
		environment, _ := flow.Fetch(c, in.environment, model.ObjectRef{})
		if why := hostProblem(*mcp.Hostname, environment.ClusterDomain); why != "" {
			read.Unusable = problem.Unusable{Reason: "UnsupportedValue",
				Message: fmt.Sprintf("%s: spec.mcp.hostname: %s", ref, why)}
		}
		return read
	}
	number := gatewayv1.PortNumber(mcp.Port)
	of := in.services.Refer(c, in.serviceKey(ref, mcp).Object, &number, carries)
	if why := cmp.Or(of.Unusable, of.NoHTTP); !why.IsZero() {
		read.Unusable = problem.Unusable{Reason: why.Reason, Message: fmt.Sprintf("%s: %s", ref, why.Message)}
	}
	read.Affinity, read.HTTP1 = of.Affinity, of.HTTP1
	return read
}

// serviceKey is the Service's port that an XBackend names.
func (mcpBackendKind) serviceKey(ref model.ObjectRef, mcp v0alpha0.MCPBackend) model.BackendKey {
	return model.BackendKey{Object: model.Ref(model.KindService, ref.Namespace(), *mcp.ServiceName), Port: mcp.Port}
}

func (in mcpBackendKind) Backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	o, found := flow.Fetch(c, in.objects, key.Object)
	if !found {
		return b, true
	}
	mcp := o.Spec.MCP
	if mcp.Hostname == nil {
		return in.services.Backend(c, in.serviceKey(key.Object, mcp))
	}
	environment, _ := flow.Fetch(c, in.environment, model.ObjectRef{})
	b.Hostname, b.HostPort, b.WholeName = *mcp.Hostname, mcp.Port, environment.ClusterDomain != ""
	b.Protocol, b.TLS = model.NegotiatedHTTP, &model.BackendTLS{Hostname: *mcp.Hostname}
	return b, hostProblem(*mcp.Hostname, environment.ClusterDomain) == ""
}
