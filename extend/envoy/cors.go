package envoy

import (
	"regexp"
	"strconv"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
)

// CORSPolicy renders CORS for Envoy. Where a star stands Envoy answers what the browser asked for, as it must where
// credentials are allowed.
func CORSPolicy(c extend.CORS) *corsv3.CorsPolicy {
	p := &corsv3.CorsPolicy{
		AllowMethods: strings.Join(c.Methods, ", "), AllowHeaders: strings.Join(c.Headers, ", "),
		ExposeHeaders: strings.Join(c.Expose, ", "), MaxAge: strconv.Itoa(int(c.MaxAge)),
		AllowCredentials: wrapperspb.Bool(c.Credentials),
		// A preflight of another origin is answered without headers, which the browser takes for a no.
		ForwardNotMatchingPreflights: wrapperspb.Bool(false),
	}
	for _, origin := range c.Origins {
		p.AllowOriginStringMatch = append(p.AllowOriginStringMatch, originMatchers(origin)...)
	}
	return p
}

// CORSVaryFilter is the name of the filter CORSVary, in the slot SlotObserve: nearer levels replace that of farther.
const CORSVaryFilter = "cors-vary"

// CORSVary tells caches that the answer depends on who asks (RFC 9110, 12.5.5), which Envoy's CORS filter does not: it
// names the origin that asked, and without one nobody.
func CORSVary() *headermutationv3.HeaderMutation {
	return &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
		ResponseMutations: []*mutationv3.HeaderMutation{{Action: &mutationv3.HeaderMutation_Append{
			Append: &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: "vary", Value: "Origin"}},
		}}},
	}}
}

// wellKnownPorts are those that schemes imply.
var wellKnownPorts = map[string]int{"http": 80, "https": 443}

// originMatchers match the Origin headers that an origin of the filter stands for. A port that the scheme implies may
// be left out on either side. Only one with a star in its host is an expression, which costs more. Envoy knows by
// itself that a star alone stands for any.
func originMatchers(origin string) (list []*matcherv3.StringMatcher) {
	if origin == "*" {
		return []*matcherv3.StringMatcher{{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: origin}}}
	}
	scheme, host, _ := strings.Cut(origin, "://")
	port := strconv.Itoa(wellKnownPorts[strings.ToLower(scheme)])
	implied := port
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host, port = host[:i], host[i+1:]
	}
	ends := []string{":" + port}
	if port == implied {
		ends = append(ends, "")
	}
	if strings.Contains(host, "*") {
		regex := "(?i)" + regexp.QuoteMeta(scheme) + "://" +
			strings.ReplaceAll(regexp.QuoteMeta(host), `\*`, "[^/:]+") + "(?:" + strings.Join(ends, "|") + ")"
		return []*matcherv3.StringMatcher{{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: regex}},
		}}
	}
	for _, end := range ends {
		list = append(list, &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_Exact{Exact: scheme + "://" + host + end}, IgnoreCase: true,
		})
	}
	return list
}
