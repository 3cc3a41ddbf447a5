package envoy

import (
	"strings"

	"cardea.dev/cardea/internal/dialect"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// Version is the Envoy that Cardea is made for. hack/get-envoy.sh downloads it.
const Version = "1.40.0"

// proxyName is what users call the proxy.
const proxyName = "Envoy"

// Dialect is the data plane "Envoy": Envoys that are fed over xDS.
func Dialect() dialect.Dialect {
	return dialect.Dialect{
		Name: model.DataPlaneEnvoy, Proxy: proxyName, Version: Version,
		Render:   New,
		Policies: features{},
		Simulate: newSimulation,
		Table:    tableOf,
		Backend:  func(k plan.BackendKey) resource.Key { return backendResource(resource.Cluster)(k) },
		Place:    func(table resource.Key) string { return strings.TrimSuffix(table.Name, "/"+shard) },
		Describe: describe,
		Child: dialect.Child{
			Program: Program(), Files: childFiles, Arguments: childArguments, Level: logLevel,
			ReadyPath: readyPath, BusyPath: busyPath, IsBusy: isBusy,
			ConnectionsPath: connectionsPath, Connections: connections,
			MetricsPath: MetricsPath,
		},
		Pod: dialect.Pod{
			Image: "envoyproxy/envoy:distroless-v" + Version, Files: PodBootstrap, Command: PodCommand,
			MetricsPath: MetricsPath,
		},
	}
}
