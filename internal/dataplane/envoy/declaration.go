package envoy

import (
	"strings"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// Version is the Envoy that Cardea is made for. hack/get-envoy.sh downloads it.
const Version = "1.40.0"

// proxyName is what users call the proxy.
const proxyName = "Envoy"

// Dialect is the data plane "Envoy": Envoys that are fed over xDS.
func Dialect() dataplane.Dialect {
	return dataplane.Dialect{
		Name: model.DataPlaneEnvoy, Proxy: proxyName, Version: Version,
		Render:   New,
		Policies: features{},
		Simulate: newSimulation,
		Table:    tableOf,
		Backend:  func(k plan.BackendKey) resource.Key { return backendResource(resource.Cluster)(k) },
		Place:    func(table resource.Key) string { return strings.TrimSuffix(table.Name, "/"+shard) },
		Describe: describe,
		Child: dataplane.Child{
			Program: Program(), Files: childFiles, Arguments: childArguments, Level: logLevel,
			ReadyPath: readyPath, BusyPath: busyPath, IsBusy: isBusy,
			ConnectionsPath: connectionsPath, Connections: connections,
			MetricsPath: MetricsPath,
		},
		Pod: dataplane.Pod{
			Image: "envoyproxy/envoy:distroless-v" + Version, Files: PodBootstrap, Command: PodCommand,
			MetricsPath: MetricsPath,
		},
	}
}
