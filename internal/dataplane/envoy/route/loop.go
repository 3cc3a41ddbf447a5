package route

import (
	"fmt"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"cardea.dev/cardea/internal/core/model"
)

// Hops are counted where a rule sends requests to a hostname, which may lead back to this proxy or to another one: each
// adds a token to CDN-Loop (RFC 8586), and one that would be one too many is answered 508. Header modifiers and
// authorization servers can't change that header. Envoy's own filter for it (cdn_loop) would answer 502.
//
//	client ──> hop 1 ──"cardea"──> hop 2 ──"cardea, cardea"──> ... hop 5 ──> hop 6: 508
const (
	loopToken  = model.LoopToken
	maxHops    = model.MaxHops
	loopStatus = 508 // Loop Detected (RFC 5842)
)

// reachesHostname tells whether a rule sends requests, or copies of them, or questions about them, to a hostname.
func reachesHostname(f model.Filters, backends []model.WeightedBackend) bool {
	return f.Auth != nil && f.Auth.External ||
		slices.ContainsFunc(f.Mirrors, func(m model.Mirror) bool { return m.External }) ||
		slices.ContainsFunc(backends, func(b model.WeightedBackend) bool { return b.External && b.Weight > 0 })
}

// hopHeader adds the token of this hop, once for all tries.
func hopHeader() *corev3.HeaderValueOption {
	return headerOption(model.Header{Name: model.LoopHeader, Value: loopToken},
		corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD)
}

// loopGuard is the filter that answers a request that has made all hops, where a rule turns it on. It stands in the
// list of filters: in routes, each would hold the expression once more.
func loopGuard() *faultv3.HTTPFault {
	return &faultv3.HTTPFault{
		Abort: &faultv3.FaultAbort{
			ErrorType:  &faultv3.FaultAbort_HttpStatus{HttpStatus: loopStatus},
			Percentage: &typev3.FractionalPercent{Numerator: 100},
		},
		Headers: []*routev3.HeaderMatcher{{
			Name: model.LoopHeader,
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
				MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: AllHopsRegex}},
			}},
		}},
	}
}

// AllHopsRegex matches a CDN-Loop that has the token often enough. Its elements may have parameters.
var AllHopsRegex = fmt.Sprintf(`(?:(?:.*[,\s])?%s(?:[\s;][^,]*)?(?:,|$)){%d}.*`, loopToken, maxHops)
