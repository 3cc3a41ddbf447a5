package envoy

import (
	"slices"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// TestLimitsIgnoreAnswers: Envoy's local limits take nothing when an answer has ended, whatever is stated. If this
// fails, Envoy has learned it, and rateLimits can count the tokens of models.
func TestLimitsIgnoreAnswers(t *testing.T) {
	actions := []*routev3.RateLimit_Action{{ActionSpecifier: &routev3.RateLimit_Action_GenericKey_{
		GenericKey: &routev3.RateLimit_Action_GenericKey{DescriptorValue: "all"},
	}}}
	entry := message.MustMarshal(&localratelimitv3.LocalRateLimit{
		RateLimits: []*routev3.RateLimit{{Actions: actions}, {
			Actions: actions, ApplyOnStreamDone: true,
			HitsAddend: &routev3.RateLimit_HitsAddend{Number: wrapperspb.UInt64(2)},
		}},
		Descriptors: []*ratelimitv3.LocalRateLimitDescriptor{{
			Entries: []*ratelimitv3.RateLimitDescriptor_Entry{{Key: "generic_key", Value: "all"}},
			TokenBucket: &typev3.TokenBucket{
				MaxTokens: 3, TokensPerFill: wrapperspb.UInt32(1), FillInterval: durationpb.New(time.Hour),
			},
		}},
	})
	bind := freePort(t)
	w := stateEach(t, bind, func(string) plan.Setting { return plan.Setting{Slot: httpfilters.LimitsLate} })
	w.apply(func(b *flow.Batch) {
		w.stated.shared.Set(b, plan.SharedKey{Gateway: testGateway, Slot: httpfilters.LimitsLate, ID: "bucket"},
			plan.SharedEntry{From: testGateway, Value: entry})
	})
	startProxy(t, w.resources())
	var got []int
	for range 4 {
		got = append(got, statusAt(t, bind, "gateway.test"))
	}
	if want := []int{200, 200, 200, 429}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: an answer takes 2 of 3", got, want)
	}
}
