package kinds

import (
	"cardea.dev/cardea/api/agentic/v0alpha0"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// mcpBackend is the XBackend of agentic.networking.x-k8s.io.
func mcpBackend() *kind.Kind {
	k := custom(model.KindMCPBackend, selected(kind.Custom[v0alpha0.XBackendSpec]()))
	k.Optional, k.Fades, k.Many = true, true, true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		mcp := spec.(*v0alpha0.XBackendSpec).MCP
		if mcp.ServiceName == nil {
			return nil
		}
		to := model.Ref(model.KindService, from.Namespace(), *mcp.ServiceName)
		return []kind.Reference{{To: to, Part: kind.Part{Port: mcp.Port}}}
	}
	k.Refers = []model.Kind{model.KindService}
	k.Columns = []kind.Column{
		column("SERVICE", "spec", "mcp", "serviceName"),
		column("HOSTNAME", "spec", "mcp", "hostname"),
		column("PORT", "spec", "mcp", "port"),
		column("PATH", "spec", "mcp", "path"),
	}
	return &k
}
