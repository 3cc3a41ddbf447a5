package limits

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

func renderBackend(e envoy.Backend, v Value) {
	all := &clusterv3.CircuitBreakers_Thresholds{
		MaxConnections:     wrapperspb.UInt32(v.Connections),
		MaxPendingRequests: wrapperspb.UInt32(v.PendingRequests),
		MaxRequests:        wrapperspb.UInt32(v.Requests),
	}
	if v.Retries != nil {
		all.MaxRetries = wrapperspb.UInt32(*v.Retries)
	} else {
		all.RetryBudget = &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent: &typev3.Percent{Value: v.RetryPercent}, MinRetryConcurrency: wrapperspb.UInt32(v.MinRetries),
		}
	}
	breakers := &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{all}}
	if v.ConnectionsPerEndpoint != nil {
		breakers.PerHostThresholds = []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections: wrapperspb.UInt32(*v.ConnectionsPerEndpoint),
		}}
	}
	e.Cluster(&clusterv3.Cluster{CircuitBreakers: breakers})
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Backend: renderBackend})
