package httpfilters

import (
	"math"
	"net/http"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	jwtauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/plan"
)

// NewSetting is a setting that an object's own fields make of a filter.
func NewSetting(slot, name string, config proto.Message) plan.Setting {
	return plan.Setting{Slot: slot, Name: name, Config: packConfig(config)}
}

func packConfig(m proto.Message) plan.TypedConfig {
	a := pack(m)
	return plan.TypedConfig{Type: a.GetTypeUrl(), Value: a.GetValue()}
}

// Join merges the settings of several levels, from far to near: the nearest of each slot and name wins. A setting that
// is off and has no name replaces all of its slot. Lasting settings come first: headers that only a feature may set are
// removed before any feature sets or reads one.
func Join(levels ...[]plan.Setting) []plan.Setting {
	var joined []plan.Setting
	for _, level := range levels {
		for _, near := range level {
			joined = slices.DeleteFunc(joined, func(far plan.Setting) bool {
				return far.Slot == near.Slot && (far.Name == near.Name || near.Off && near.Name == "")
			})
			joined = append(joined, near)
		}
	}
	slices.SortStableFunc(joined, func(a, b plan.Setting) int {
		switch {
		case a.Lasting == b.Lasting:
			return 0
		case a.Lasting:
			return -1
		}
		return 1
	})
	return joined
}

// EncodeSettings encodes settings for the field typed_per_filter_config of a table, a virtual host or a route; nil for
// none.
func EncodeSettings(at Level, settings []plan.Setting) map[string]*anypb.Any {
	if len(settings) == 0 {
		return nil
	}
	bySlot := map[string][]plan.Setting{}
	for _, s := range settings {
		bySlot[s.Slot] = append(bySlot[s.Slot], s)
	}
	config := map[string]*anypb.Any{}
	for name, own := range bySlot {
		s := findSlot(name)
		if s.perLevel {
			for _, farther := range levels[:slices.Index(levels, at)] {
				config[s.filterName(farther)] = disabledConfig
			}
		}
		config[s.filterName(at)] = s.encodeConfig(own)
	}
	return config
}

// RunsAtRoute tells of what EncodeSettings encoded for a route whether a slot that is one filter runs; stated is false
// where farther levels decide.
func RunsAtRoute(slot string, config map[string]*anypb.Any) (runs, stated bool) {
	own, stated := config[findSlot(slot).filterName(Route)]
	return stated && !proto.Equal(own, disabledConfig), stated
}

// SplitSettings takes apart what EncodeSettings encoded for one filter: each setting's configuration, encoded as if it
// were alone, by the names of its slot and of the setting.
func SplitSettings(filter string, config *anypb.Any) map[[2]string]*anypb.Any {
	i := slices.IndexFunc(slots, func(s slot) bool { return slices.Contains(s.filterNames(), filter) })
	if i < 0 {
		return nil
	}
	chain := new(filterchainv3.FilterChainConfigPerRoute)
	if config.UnmarshalTo(chain) != nil {
		return map[[2]string]*anypb.Any{{slots[i].name, ""}: config}
	}
	each := map[[2]string]*anypb.Any{}
	for _, f := range chain.GetFilterChain().GetFilters() {
		alone := &filterchainv3.FilterChain{Filters: []*corev3.TypedExtensionConfig{f}}
		each[[2]string{slots[i].name, f.GetName()}] = pack(&filterchainv3.FilterChainConfigPerRoute{FilterChain: alone})
	}
	return each
}

// encodeConfig encodes what is stated for one slot.
func (s slot) encodeConfig(settings []plan.Setting) *anypb.Any {
	switch last := settings[len(settings)-1]; {
	case last.Off && last.Name == "": // nothing nearer stands in the slot
		return disabledConfig
	case s.isChain():
		return pack(&filterchainv3.FilterChainConfigPerRoute{FilterChain: chainOf(settings)})
	case last.Config.Type == "":
		return enabledConfig
	default:
		return UnpackConfig(last.Config)
	}
}

// chainOf has a filter for each setting, but for one that has turned the slot off farther away.
func chainOf(settings []plan.Setting) *filterchainv3.FilterChain {
	chain := new(filterchainv3.FilterChain)
	for _, s := range settings {
		if !s.Off || s.Name != "" {
			chain.Filters = append(chain.Filters, &corev3.TypedExtensionConfig{Name: s.Name, TypedConfig: chainFilter(s)})
		}
	}
	return chain
}

// chainFilter is what stands for a setting in a chain: one that is off is a filter that does nothing, in place of what
// a farther level has under its name.
func chainFilter(s plan.Setting) *anypb.Any {
	if s.Off {
		return noopFilter
	}
	return UnpackConfig(s.Config)
}

var (
	disabledConfig = pack(&routev3.FilterConfig{Disabled: true})
	enabledConfig  = pack(&routev3.FilterConfig{Config: &anypb.Any{}}) // runs as the list, or its resource, has it
	noopFilter     = pack(&headermutationv3.HeaderMutation{})
)

// DisableAnswering turns off what settings of farther levels could answer with: for answers that have to be as they
// are.
func DisableAnswering(settings []plan.Setting) []plan.Setting {
	var silent []plan.Setting
	for _, s := range slots {
		if s.mayAnswer && slices.ContainsFunc(settings, func(far plan.Setting) bool { return far.Slot == s.name }) {
			silent = append(silent, plan.Setting{Slot: s.name, Off: true})
		}
	}
	return silent
}

// CloseSetting stands in place of a setting that a proxy refused: requests that it would have held for get an error,
// since they must not pass as if nothing were stated.
func CloseSetting(s plan.Setting) plan.Setting {
	closed := plan.Setting{From: s.From, Slot: s.Slot, Name: s.Name}
	switch {
	case findSlot(s.Slot).isChain(), s.Slot == Loops: // which is a filter of the kind that failing is
		closed.Config = packConfig(abort500)
	case s.Slot == Messages, s.Slot == Tools, s.Slot == AI:
		closed.Config = packConfig(&luav3.LuaPerRoute{Override: &luav3.LuaPerRoute_SourceCode{SourceCode: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{
				InlineString: "function envoy_on_request(handle) handle:respond({[':status'] = '500'}, '') end",
			},
		}}})
	case slices.Contains(limitSlots, s.Slot):
		closed.Config = packConfig(noTokens)
	case s.Slot == JWT:
		closed.Config = packConfig(&jwtauthnv3.PerRouteConfig{
			RequirementSpecifier: &jwtauthnv3.PerRouteConfig_RequirementName{RequirementName: "refused"}, // there is none: 403
		})
	default: // without CORS headers browsers allow nothing
		closed.Off = true
	}
	return closed
}

// abort500 answers 500 to every request.
var abort500 = abortFault(http.StatusInternalServerError)

func abortFault(status uint32) *faultv3.HTTPFault {
	return &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{
		ErrorType:  &faultv3.FaultAbort_HttpStatus{HttpStatus: status},
		Percentage: &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
	}}
}

// FailSettings are settings that answer a status to every request. To calls of gRPC 500 would be UNKNOWN, which many
// clients don't try again; they get UNAVAILABLE.
func FailSettings(slot, name string, status uint32) []plan.Setting {
	all := NewSetting(slot, name, abortFault(status))
	if status != http.StatusInternalServerError {
		return []plan.Setting{all}
	}
	calls := abortFault(http.StatusServiceUnavailable)
	calls.Headers = []*routev3.HeaderMatcher{{
		Name: "content-type", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "application/grpc"},
		}},
	}}
	return []plan.Setting{NewSetting(slot, name+".grpc", calls), all}
}

// limitSlots are those of local_ratelimit.
var limitSlots = []string{LimitsEarly, EarlyProxy, LimitsLate, LateProxy}

// noTokens answers 500 to every request: each takes more from its bucket than that can hold.
var noTokens = &localratelimitv3.LocalRateLimit{
	StatPrefix: "refused", Status: &typev3.HttpStatus{Code: typev3.StatusCode_InternalServerError},
	FilterEnabled: always, FilterEnforced: always, TokenBucket: oneToken,
	RateLimits: []*routev3.RateLimit{{
		Actions: []*routev3.RateLimit_Action{{ActionSpecifier: &routev3.RateLimit_Action_GenericKey_{
			GenericKey: &routev3.RateLimit_Action_GenericKey{DescriptorValue: "refused"},
		}}},
		HitsAddend: &routev3.RateLimit_HitsAddend{Number: wrapperspb.UInt64(2)},
	}},
	Descriptors: []*ratelimitv3.LocalRateLimitDescriptor{{
		Entries:     []*ratelimitv3.RateLimitDescriptor_Entry{{Key: "generic_key", Value: "refused"}},
		TokenBucket: oneToken,
	}},
}

var (
	always = &corev3.RuntimeFractionalPercent{
		DefaultValue: &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
	}
	oneToken  = &typev3.TokenBucket{MaxTokens: 1, FillInterval: durationpb.New(time.Hour)}
	allTokens = &typev3.TokenBucket{
		MaxTokens: math.MaxUint32, TokensPerFill: wrapperspb.UInt32(math.MaxUint32),
		FillInterval: durationpb.New(time.Second),
	}
)

// UnpackConfig is the configuration of a setting.
func UnpackConfig(p plan.TypedConfig) *anypb.Any { return &anypb.Any{TypeUrl: p.Type, Value: p.Value} }

func pack(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err)
	}
	return a
}
