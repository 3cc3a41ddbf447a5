package envoy

import (
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
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
		"nothing":     {nil, connections, otherEndpoints},
		"codes":       {&routev3.RetryPolicy{RetryOn: "5xx", NumRetries: wrapperspb.UInt32(1)}, "5xx," + connections, 1},
		"connections": {&routev3.RetryPolicy{RetryOn: "connect-failure", NumRetries: wrapperspb.UInt32(2)}, connections, 2},
		"none":        {&routev3.RetryPolicy{NumRetries: wrapperspb.UInt32(0)}, "", 0},
	} {
		route := &routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{RetryPolicy: c.stated}}}
		tryOthers(route)
		got := route.GetRoute().GetRetryPolicy()
		if got.GetRetryOn() != c.on || got.GetNumRetries().GetValue() != c.times {
			t.Errorf("%s stated: %v", name, got)
		}
	}
}

// TestChoosing: what policies state of a pool's balancing counts where no picker decides, and never in place of one.
func TestChoosing(t *testing.T) {
	stated := balancing("turns", &roundrobinv3.RoundRobin{})
	picker := model.BackendKey{Object: model.Ref(model.KindService, "shop", "picker"), Port: 9002}
	for name, c := range map[string]struct {
		pool   *model.Pool
		stated *clusterv3.LoadBalancingPolicy
		want   string // names of balancers, the inner ones last
	}{
		"no pool":            {nil, stated, ""},
		"nobody":             {&model.Pool{}, nil, "LeastRequest"},
		"nobody, stated":     {&model.Pool{}, stated, "RoundRobin"},
		"fail open":          {&model.Pool{Picker: picker, FailOpen: true}, nil, "OverrideHost LeastRequest"},
		"fail open, stated":  {&model.Pool{Picker: picker, FailOpen: true}, stated, "OverrideHost RoundRobin"},
		"fail close":         {&model.Pool{Picker: picker}, nil, "OverrideHost Subset LeastRequest"},
		"fail close, stated": {&model.Pool{Picker: picker}, stated, "OverrideHost Subset RoundRobin"},
	} {
		text := string(mustMarshal(&clusterv3.Cluster{LoadBalancingPolicy: choosing(c.pool, c.stated)}))
		var got []string
		for _, kind := range []string{"OverrideHost", "Subset", "LeastRequest", "RoundRobin"} {
			if strings.Contains(text, ".v3."+kind) {
				got = append(got, kind)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
