package route

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestTryOthers: endpoints that a picker names are tried while connections fail, beside what is stated of retries;
// where these are turned off they stay so.
func TestTryOthers(t *testing.T) {
	const connections = "connect-failure,reset-before-request"
	for name, c := range map[string]struct {
		stated *routev3.RetryPolicy
		on     string
		times  uint32
	}{
		"nothing":     {nil, connections, maxOtherEndpoints},
		"codes":       {&routev3.RetryPolicy{RetryOn: "5xx", NumRetries: wrapperspb.UInt32(1)}, "5xx," + connections, 1},
		"connections": {&routev3.RetryPolicy{RetryOn: "connect-failure", NumRetries: wrapperspb.UInt32(2)}, connections, 2},
		"none":        {&routev3.RetryPolicy{NumRetries: wrapperspb.UInt32(0)}, "", 0},
	} {
		route := &routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{RetryPolicy: c.stated}}}
		retryOtherEndpoints(route)
		got := route.GetRoute().GetRetryPolicy()
		if got.GetRetryOn() != c.on || got.GetNumRetries().GetValue() != c.times {
			t.Errorf("%s stated: %v", name, got)
		}
	}
}
