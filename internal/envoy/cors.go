package envoy

import (
	"regexp"
	"strconv"
	"strings"

	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/model"
)

// corsPolicy renders CORS. Where a star stands Envoy answers what the browser asked for, as it must where credentials
// are allowed.
func corsPolicy(c *model.CORS) *corsv3.CorsPolicy {
	p := &corsv3.CorsPolicy{
		AllowMethods: strings.Join(c.Methods, ", "), AllowHeaders: strings.Join(c.Headers, ", "),
		ExposeHeaders:    strings.Join(c.Expose, ", "),
		MaxAge:           strconv.Itoa(int(c.MaxAge)),
		AllowCredentials: wrapperspb.Bool(c.Credentials),
		// A preflight of another origin is answered without headers, which the browser takes for a no.
		ForwardNotMatchingPreflights: wrapperspb.Bool(false),
	}
	for _, origin := range c.Origins {
		p.AllowOriginStringMatch = append(p.AllowOriginStringMatch, originMatchers(origin)...)
	}
	return p
}

// originMatchers match the Origin headers that an origin of the filter stands for. A port that the scheme implies may
// be left out on either side. Only one with a star in its host is an expression, which costs more. Of the star alone
// Envoy knows that it is any.
func originMatchers(origin string) (list []*matcherv3.StringMatcher) {
	if origin == "*" {
		return []*matcherv3.StringMatcher{exactly(origin)}
	}
	scheme, host, _ := strings.Cut(origin, "://")
	port := strconv.Itoa(int(wellKnownPorts[strings.ToLower(scheme)]))
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
		m := exactly(scheme + "://" + host + end)
		m.IgnoreCase = true
		list = append(list, m)
	}
	return list
}
