package envoy

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// TestShareOfALimit: each of a Gateway's proxies lets its share of a limit pass, and all of one that is not shared.
func TestShareOfALimit(t *testing.T) {
	const limit = 12
	for proxies, share := range map[int32]int{1: 12, 3: 4} {
		for slot, want := range map[string]int{httpfilters.LimitsEarly: share, httpfilters.EarlyProxy: limit} {
			t.Run(fmt.Sprintf("%d %s", proxies, slot), func(t *testing.T) {
				entry := &localratelimitv3.LocalRateLimit{TokenBucket: &typev3.TokenBucket{
					MaxTokens: limit, TokensPerFill: wrapperspb.UInt32(1), FillInterval: durationpb.New(time.Hour),
				}}
				if slot == httpfilters.LimitsEarly {
					entry.LocalClusterRateLimit = &ratelimitv3.LocalClusterRateLimit{}
				}
				bind := freePort(t)
				w := stateEach(t, bind, func(string) plan.Setting { return plan.Setting{Slot: slot} })
				w.apply(func(b *flow.Batch) {
					w.running.Set(b, testGateway, proxies)
					w.stated.shared.Set(b, plan.SharedKey{Gateway: testGateway, Slot: slot, ID: "bucket"},
						plan.SharedEntry{From: testGateway, Value: message.MustMarshal(entry)})
				})
				startEnvoy(t, func(socket string) { serveState(t, socket, w.resources()) }, asOneOfSeveral(t))
				passed := 0
				for range limit + 1 {
					if statusAt(t, bind, "gateway.test") == http.StatusOK {
						passed++
					}
				}
				if passed != want {
					t.Errorf("%d of %d requests passed, want %d", passed, limit+1, want)
				}
			})
		}
	}
}

// asOneOfSeveral is a bootstrap as pods have it, where the local cluster is concerned.
func asOneOfSeveral(t *testing.T) func([]byte) []byte {
	return func(config []byte) []byte {
		b := new(bootstrapv3.Bootstrap)
		if err := protojson.Unmarshal(config, b); err != nil {
			t.Fatal(err)
		}
		b.StaticResources.Clusters = b.StaticResources.Clusters[:1]
		bootstrap.AddLocalCluster(b, bootstrap.SharedLocalCluster(message.ADSConfigSource()))
		text, err := message.FormatJSON(b)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}
