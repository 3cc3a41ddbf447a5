package envoy

import (
	"strings"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/redact"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// Dialect is the data plane "Envoy": Envoys that are fed over xDS.
func Dialect() dataplane.Dialect {
	return dataplane.Dialect{
		Name: naming.DataPlane, Proxy: bootstrap.ProxyName, Version: bootstrap.Version,
		Protocol: Protocol(), Protocols: naming.Protocols, Render: New,
		Policies:        featureRenderer{},
		Simulate:        newSimulation,
		RouteTable:      naming.TableKey,
		BackendResource: func(k plan.BackendKey) resource.Key { return naming.BackendResource(xdstypes.Cluster)(k) },
		DescribeTable:   func(table resource.Key) string { return strings.TrimSuffix(table.Name, "/"+naming.Shard) },
		Describe:        redact.DescribeResource,
		Child:           bootstrap.Child(),
		Pod:             bootstrap.Pod(),
	}
}
