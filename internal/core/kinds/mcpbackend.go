package kinds

import (
	"cardea.dev/cardea/api/agentic/v0alpha0"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// mcpBackend is the XBackend of agentic.networking.x-k8s.io.
func mcpBackend() *kind.Kind {
	k := customKind(model.KindMCPBackend, keepLabels(kind.CustomContent[v0alpha0.XBackendSpec]()))
	k.Optional, k.Fades, k.Cacheable = true, true, true
	k.Backend = &kind.Backend{
		Targets: kind.ForRules, Tools: kind.ToolsAlways,
		Path: func(spec any) string { return spec.(*v0alpha0.XBackendSpec).MCP.Path },
	}
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		mcp := spec.(*v0alpha0.XBackendSpec).MCP
		if mcp.ServiceName == nil {
			return nil
		}
		to := model.Ref(model.KindService, from.Namespace(), *mcp.ServiceName)
		return []kind.Reference{{To: to, Part: kind.Part{Port: mcp.Port}}}
	}
	k.RefersTo = []model.Kind{model.KindService}
	k.Columns = []kind.Column{
		fieldColumn("SERVICE", "spec", "mcp", "serviceName"),
		fieldColumn("HOSTNAME", "spec", "mcp", "hostname"),
		fieldColumn("PORT", "spec", "mcp", "port"),
		fieldColumn("PATH", "spec", "mcp", "path"),
	}
	return &k
}
