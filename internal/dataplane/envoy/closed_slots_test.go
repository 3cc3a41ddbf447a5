package envoy

import (
	"slices"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// TestClosedSlots: where a setting that was refused is inherited every request gets an error; where a nearer level
// states something else of that slot none does.
func TestClosedSlots(t *testing.T) {
	for _, slot := range []string{httpfilters.Authz, httpfilters.JWT, httpfilters.LimitsEarly, httpfilters.LimitsLate} {
		t.Run(slot, func(t *testing.T) {
			bind := freePort(t)
			setting := plan.Setting{Slot: slot, Name: map[string]string{httpfilters.Authz: "a"}[slot]}
			off := setting
			off.Off = true
			w := stateEach(t, bind, alternate(httpfilters.CloseSetting(setting), off))
			startProxy(t, w.resources())
			for range 3 {
				for i, host := range levelHosts {
					got := statusAt(t, bind, host)
					if ok := got == 200; ok != (i%2 == 1) || got == 429 {
						t.Errorf("%s: %d", host, got)
					}
				}
			}
		})
	}
}

// TestSettingsThatNameARefusedEntry: a local limit lets pass what names an entry that it does not have. So what names
// one that was refused gets an error, at each level, and what names another one is served.
func TestSettingsThatNameARefusedEntry(t *testing.T) {
	naming := func(id string) plan.Setting { return plan.Setting{Slot: httpfilters.LimitsLate, Entries: []string{id}} }
	off := plan.Setting{Slot: httpfilters.LimitsLate, Off: true}
	for name, c := range map[string]struct {
		by     func(level string) plan.Setting
		status []int // of levelHosts
	}{
		"beside off": {alternate(naming("bad"), off), []int{500, 200, 500, 200, 500}},
		"beside another": {func(level string) plan.Setting {
			if level == "route" || level == "backendRef" {
				return naming("bad")
			}
			return naming("good")
		}, []int{200, 200, 500, 200, 500}},
	} {
		t.Run(name, func(t *testing.T) {
			bind := freePort(t)
			w := stateEach(t, bind, c.by)
			w.apply(func(b *flow.Batch) { w.stateLimit(b, "good", time.Hour); w.stateLimit(b, "bad", time.Millisecond) })
			w.serveLive(t)
			eventually(t, "what names the bad entry gets an error",
				func() bool { return statusAt(t, bind, levelHosts[2]) == 500 })
			if got := w.refusals(); len(got) != 1 || !strings.Contains(got["limits-late/bad"], "token bucket fill timer") {
				t.Errorf("refused: %v", got)
			}
			for i, host := range levelHosts {
				if got := statusAt(t, bind, host); got != c.status[i] {
					t.Errorf("%s: %d, want %d", host, got, c.status[i])
				}
			}
			w.g.View(func(v flow.View) {
				key := resource.RouteKey{Gateway: testGateway, Route: testRuleKey("route").Route}
				standing, _ := flow.Get(v, w.out.Routes, key)
				if len(standing.Listeners) != 1 || !strings.Contains(standing.Listeners[0].Rules[0].Refused, "shop/bad: ") {
					t.Errorf("of the route that names it is said %+v", standing)
				}
			})
			w.g.Apply("test", func(b *flow.Batch) { w.stateLimit(b, "bad", time.Hour) })
			eventually(t, "all serve", func() bool {
				return !slices.ContainsFunc(levelHosts, func(host string) bool { return statusAt(t, bind, host) != 200 })
			})
			if got := w.refusals(); len(got) > 0 {
				t.Errorf("refused: %v", got)
			}
		})
	}
}

// stateLimit states an entry of the slot limits-late, by a policy of its name.
func (w *world) stateLimit(b *flow.Batch, id string, fill time.Duration) {
	w.stated.shared.Set(b, plan.SharedKey{Gateway: testGateway, Slot: httpfilters.LimitsLate, ID: id}, plan.SharedEntry{
		From: model.Ref(model.KindOf("test", "Policy"), "shop", id),
		Value: message.MustMarshal(&localratelimitv3.LocalRateLimit{
			Descriptors: []*ratelimitv3.LocalRateLimitDescriptor{{
				Entries:     []*ratelimitv3.RateLimitDescriptor_Entry{{Key: "limit", Value: id}},
				TokenBucket: &typev3.TokenBucket{MaxTokens: 1, FillInterval: durationpb.New(fill)},
			}},
		}),
	})
}
