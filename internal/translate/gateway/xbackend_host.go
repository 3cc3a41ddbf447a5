package gateway

import "cardea.dev/cardea/internal/core/model"

// hostProblem is model.HostProblem for what an XBackend states and proxies look up.
func hostProblem(host, domain string) string {
	return model.HostProblem(host, domain, "proxy", "refer to the Service, or use type EndpointSelector")
}
