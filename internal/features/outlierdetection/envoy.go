package outlierdetection

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

// renderBackend states whether each reason to eject counts: Envoy has some on by itself, and others off.
func renderBackend(e envoy.Backend, v Value) {
	e.Cluster(&clusterv3.Cluster{OutlierDetection: &clusterv3.OutlierDetection{
		Consecutive_5Xx:                    envoy.ProtoNumber(v.Consecutive5xx),
		EnforcingConsecutive_5Xx:           enforcingPercent(v.Consecutive5xx),
		ConsecutiveGatewayFailure:          envoy.ProtoNumber(v.GatewayErrors),
		EnforcingConsecutiveGatewayFailure: enforcingPercent(v.GatewayErrors),
		ConsecutiveLocalOriginFailure:      envoy.ProtoNumber(v.LocalFailures),
		FailurePercentageThreshold:         envoy.ProtoNumber(v.FailurePercentage),
		EnforcingFailurePercentage:         enforcingPercent(v.FailurePercentage),
		EnforcingSuccessRate:               enforcingPercent(nil),
		EnforcingLocalOriginSuccessRate:    enforcingPercent(nil),
		SplitExternalLocalOriginErrors:     v.SplitLocal,
		Interval:                           envoy.ProtoDuration(v.Interval),
		BaseEjectionTime:                   envoy.ProtoDuration(v.EjectionTime),
		MaxEjectionPercent:                 envoy.ProtoNumber(v.MaxEjected),
		AlwaysEjectOneHost:                 wrapperspb.Bool(v.AlwaysOne),
	}})
}

// enforcingPercent is the chance by which what was detected ejects: always, or never.
func enforcingPercent(threshold *uint32) *wrapperspb.UInt32Value {
	if threshold == nil {
		return wrapperspb.UInt32(0)
	}
	return wrapperspb.UInt32(100)
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Backend: renderBackend})
