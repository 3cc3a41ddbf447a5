package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/api/agentic/v0alpha0"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// mcpBackendKind are the XBackends of agentic.networking.x-k8s.io: servers of tools for agents, each a port of a
// Service or a hostname, and a path.
type mcpBackendKind struct {
	read        *input.Collection[v0alpha0.XBackendSpec]
	services    serviceKind
	environment *environments
	broken      *broken
}

func (in mcpBackendKind) refer(c *flow.Ctx, ref model.ObjectRef, port *gatewayv1.PortNumber) (read referred) {
	o, found := flow.Fetch(c, in.read, ref)
	if !found {
		read.Unusable = unusable{"BackendNotFound", absent(c, in.broken, ref)}
		return read
	}
	mcp := o.Spec.MCP
	if port != nil && int32(*port) != mcp.Port {
		read.Unusable = unusable{"UnsupportedValue", fmt.Sprintf(
			"%s has port %d; leave the port of the reference out, the XBackend states it", ref, mcp.Port)}
		return read
	}
	read.MCP, read.Path = true, mcp.Path
	if mcp.Hostname != nil {
		read.External = true
		environment, _ := flow.Fetch(c, in.environment, model.ObjectRef{})
		if why := hostProblem(*mcp.Hostname, environment.ClusterDomain); why != "" {
			read.Unusable = unusable{"UnsupportedValue", fmt.Sprintf("%s: spec.mcp.hostname: %s", ref, why)}
		}
		return read
	}
	number := gatewayv1.PortNumber(mcp.Port)
	of := in.services.refer(c, in.service(ref, mcp).Object, &number)
	if !of.Unusable.none() {
		read.Unusable = unusable{of.Unusable.reason, fmt.Sprintf("%s: %s", ref, of.Unusable.message)}
	}
	read.Affinity, read.HTTP1 = of.Affinity, of.HTTP1
	return read
}

// service is the Service's port that an XBackend names.
func (mcpBackendKind) service(ref model.ObjectRef, mcp v0alpha0.MCPBackend) model.BackendKey {
	return model.BackendKey{Object: model.Ref(model.KindService, ref.Namespace(), *mcp.ServiceName), Port: mcp.Port}
}

func (in mcpBackendKind) backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	o, found := flow.Fetch(c, in.read, key.Object)
	if !found {
		return b, true
	}
	mcp := o.Spec.MCP
	if mcp.Hostname == nil {
		return in.services.backend(c, in.service(key.Object, mcp))
	}
	environment, _ := flow.Fetch(c, in.environment, model.ObjectRef{})
	b.Hostname, b.HostPort, b.WholeName = *mcp.Hostname, mcp.Port, environment.ClusterDomain != ""
	b.Protocol, b.TLS = model.NegotiatedHTTP, &model.BackendTLS{Hostname: *mcp.Hostname}
	return b, hostProblem(*mcp.Hostname, environment.ClusterDomain) == ""
}

func (mcpBackendKind) sliceLabel() string { return "" }

func (mcpBackendKind) selections(*namedBackends) flow.Input[model.ObjectRef, plan.Selection] {
	return nil
}

func (mcpBackendKind) reports() bool { return false }

// towards sends a rule's requests to the path of its backends, unless the rule itself says what becomes of the path.
func (s ruleScope) towards(rule *model.Rule, backends []sharing) []problem {
	path := ""
	for _, b := range backends {
		switch {
		case b.path == "" || b.Invalid || path == b.path:
		case path == "":
			path = b.path
		default:
			return []problem{unsupported("", fmt.Sprintf("the XBackends have other paths, %s and %s; put them into rules of "+
				"their own", path, b.path))}
		}
	}
	if path == "" || rule.Redirect != nil || rule.Rewrite != nil && rule.Rewrite.Path != nil {
		return nil
	}
	to := model.Rewrite{Path: &model.PathRewrite{Prefix: true, Value: path}}
	if rule.Rewrite != nil {
		to.Hostname = rule.Rewrite.Hostname
	}
	for _, m := range s.matches {
		to.Path.Prefix = to.Path.Prefix && m.Path.Type == model.PathPrefix
	}
	rule.Rewrite = &to
	return nil
}
