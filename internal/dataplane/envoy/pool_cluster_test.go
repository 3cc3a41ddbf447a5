package envoy

import (
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// TestChoosing: what policies state of a pool's balancing counts where no picker decides, and never in place of one.
func TestChoosing(t *testing.T) {
	stated := loadBalancingPolicy("turns", &roundrobinv3.RoundRobin{})
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
		text := string(message.MustMarshal(&clusterv3.Cluster{LoadBalancingPolicy: poolLoadBalancing(c.pool, c.stated)}))
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
