package envoy

import (
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/extend"
)

// Text is a comparison as Envoy has it.
func Text(m extend.StringMatch) *matcherv3.StringMatcher {
	return text(extend.MatchType(m.Type), m.Value, m.IgnoreCase)
}
