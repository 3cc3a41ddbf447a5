package panicthreshold

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"cardea.dev/cardea/extend/envoy"
)

func renderBackend(e envoy.Backend, percent Spec) {
	e.Cluster(&clusterv3.Cluster{CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
		HealthyPanicThreshold: &typev3.Percent{Value: float64(percent)},
	}})
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Spec]{Backend: renderBackend})
