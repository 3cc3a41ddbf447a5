package timeouts

import (
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

func renderRule(e envoy.Rule, v Value) {
	action := &routev3.RouteAction{Timeout: protoDuration(v.Request), IdleTimeout: protoDuration(v.StreamIdle)}
	if v.Stream != nil {
		action.MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: protoDuration(v.Stream)}
	}
	if isPositive(v.BackendRequest) && !v.Retries {
		action.RetryPolicy = &routev3.RetryPolicy{
			PerTryTimeout: protoDuration(v.BackendRequest), NumRetries: wrapperspb.UInt32(0),
		}
	}
	e.Route(&routev3.Route{Action: &routev3.Route_Route{Route: action}})
}

func protoDuration(d *time.Duration) *durationpb.Duration {
	if d == nil {
		return nil
	}
	return durationpb.New(*d)
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
