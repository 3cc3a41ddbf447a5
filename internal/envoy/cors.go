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
		p.AllowOriginStringMatch = append(p.AllowOriginStringMatch, &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: originRegex(origin)}},
		})
	}
	return p
}

// originRegex matches the Origin headers that an origin of the filter stands for. A port that the scheme implies may be
// left out on either side.
func originRegex(origin string) string {
	if origin == "*" {
		return ".*"
	}
	scheme, host, _ := strings.Cut(origin, "://")
	port := strconv.Itoa(int(wellKnownPorts[strings.ToLower(scheme)]))
	implied := port
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host, port = host[:i], host[i+1:]
	}
	end := ":" + port
	if port == implied {
		end = "(:" + port + ")?"
	}
	return "(?i)" + regexp.QuoteMeta(scheme) + "://" + strings.ReplaceAll(regexp.QuoteMeta(host), `\*`, "[^/:]+") + end
}
