package ratelimits

import (
	"fmt"
	"strconv"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	setmetadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// Where a level says which limits hold, by their places; and where cookies are put to count by.
const (
	limitsMetadata = "cardea.dev/limits"
	cookieMetadata = "cardea.dev/cookies"
)

// overLimitStatus is the one status that is answered.
const overLimitStatus = 429

// renderRule chooses limits by metadata: a filter that writes it is nearest-wins like all filters, and what counts
// stands in filters that all levels share, so that edits of routes reset nothing.
//
//	guard          writes: place -> ID        (and which requests are meant, as a shadow of RBAC tells)
//	limits-...     rate_limits: a place -> (limit, ID), (dimension, value)...     descriptors: (limit, ID), ... -> bucket
//
// A place is a shape of descriptors and a number: so the filter does the same for every request, however many limits
// there are.
func renderRule(e envoy.Rule, v Value) {
	chosen := map[string]*structpb.Value{}
	entries := map[extend.Slot][]string{}
	places := map[string]int{}
	cookies := map[string]bool{}
	for _, l := range v.Limits {
		if l.Status != 0 && l.Status != overLimitStatus {
			e.Unsupported("["+l.Name+"].status", fmt.Sprintf("Envoy always answers requests over a limit with %d; leave it "+
				"out, or state an error page", overLimitStatus))
		}
		slot, shape := l.filterSlot(), l.buildShape()
		name := string(slot) + "." + shape.hashID()
		place := name + "." + strconv.Itoa(places[name])
		places[name]++
		chosen[place] = structpb.NewStringValue(l.ID)
		e.Shared(slot, place, &localratelimitv3.LocalRateLimit{RateLimits: []*routev3.RateLimit{shape.rateLimit(place)}})
		e.Shared(slot, l.ID, l.tokenBucket(shape))
		entries[slot] = append(entries[slot], place, l.ID)
		if len(l.When) > 0 {
			e.Filter(l.whenSlot(), "rateLimits/"+place, l.whenFilter(place))
		}
		for _, d := range l.Per {
			if d.Cookie != nil {
				cookies[*d.Cookie] = true
			}
		}
	}
	if len(chosen) == 0 {
		return
	}
	e.Filter(extend.SlotGuard, "rateLimits", &setmetadatav3.Config{Metadata: []*setmetadatav3.Metadata{{
		MetadataNamespace: limitsMetadata, Value: &structpb.Struct{Fields: chosen},
	}}})
	if len(cookies) > 0 {
		e.Filter(extend.SlotGuard, "rateLimits.cookies", cookieFilter(cookies))
	}
	for _, slot := range limitSlots {
		if len(entries[slot]) > 0 {
			e.Set(slot, nil, entries[slot]...)
		}
	}
}

// limitSlots are where limits are counted: each is one filter.
var limitSlots = []extend.Slot{
	extend.SlotLimitsEarly, extend.SlotLimitsEarlyProxy, extend.SlotLimitsLate, extend.SlotLimitsLateProxy,
}

func (l ResolvedLimit) filterSlot() extend.Slot {
	switch {
	case l.Late && l.Proxy:
		return extend.SlotLimitsLateProxy
	case l.Late:
		return extend.SlotLimitsLate
	case l.Proxy:
		return extend.SlotLimitsEarlyProxy
	}
	return extend.SlotLimitsEarly
}

// whenSlot is where it is told which requests count: before they are counted.
func (l ResolvedLimit) whenSlot() extend.Slot {
	if l.Late {
		return extend.SlotLimits
	}
	return extend.SlotGuard
}

// whenFilter lets all requests pass, and writes whether one of the matches takes them.
func (l ResolvedLimit) whenFilter(place string) *filterv3.RBAC {
	policies := map[string]*rbacv3.Policy{}
	for i, m := range l.When {
		policies[strconv.Itoa(i)] = envoy.MatchPolicy(m)
	}
	return &filterv3.RBAC{
		ShadowRulesStatPrefix: whenPrefix(place),
		ShadowRules:           &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: policies},
	}
}

func whenPrefix(place string) string { return place + "." }

// Where a shadow of RBAC writes its result, and the result.
const (
	rbacMetadata  = "envoy.filters.http.rbac"
	shadowResult  = "shadow_engine_result"
	shadowAllowed = "allowed"
)

// tokenBucket is the counters of a limit.
func (l ResolvedLimit) tokenBucket(s descriptorShape) *localratelimitv3.LocalRateLimit {
	entries := []*ratelimitv3.RateLimitDescriptor_Entry{{Key: limitKey, Value: l.ID}}
	if s.When {
		entries = append(entries, &ratelimitv3.RateLimitDescriptor_Entry{Key: whenKey, Value: shadowAllowed})
	}
	for _, d := range s.listDimensions() {
		entries = append(entries, &ratelimitv3.RateLimitDescriptor_Entry{Key: d.key}) // with any value
	}
	b := &localratelimitv3.LocalRateLimit{Descriptors: []*ratelimitv3.LocalRateLimitDescriptor{{
		Entries: entries, ShadowMode: l.Shadow,
		TokenBucket: &typev3.TokenBucket{
			MaxTokens: l.Burst, TokensPerFill: wrapperspb.UInt32(l.Requests), FillInterval: durationpb.New(l.Interval),
		},
	}}}
	if !l.Proxy {
		b.LocalClusterRateLimit = &ratelimitv3.LocalClusterRateLimit{}
	}
	return b
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
