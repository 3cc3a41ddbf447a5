package simulate

import (
	"net/netip"
	"slices"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	udpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	networkinputsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/network/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/model"
)

// A listener may tell connections apart by the client's address. Envoy looks for the server name first, and among what
// has it for the most specific range with the address; it does not go back to a wider name if no range has it.

// sourceChoice is what connections from some addresses get.
type sourceChoice[T any] struct {
	within netip.Prefix // zero: those that no other choice's range has
	to     T
}

// rangesOf are all ranges of choices, each once, in order.
func rangesOf[T any](choices []sourceChoice[T]) (list []netip.Prefix) {
	for _, c := range choices {
		if c.within.IsValid() {
			list = append(list, c.within)
		}
	}
	slices.SortFunc(list, netip.Prefix.Compare)
	return slices.Compact(list)
}

// chooseMostSpecific is the choice that an address gets; false: none.
func chooseMostSpecific[T any](choices []sourceChoice[T], client netip.Addr) (best sourceChoice[T], found bool) {
	for _, c := range choices {
		switch {
		case c.within.IsValid() && !c.within.Contains(client):
		case !found || c.within.IsValid() && (!best.within.IsValid() || c.within.Bits() > best.within.Bits()):
			best, found = c, true
		}
	}
	return best, found
}

// chooseBySource finds the chain of the client's address among those of a name, and says why it ends if that has no
// filters. If it depends on the address, and that is not known, it is one that goes on.
func (s *simulation) chooseBySource(
	named []*listenerv3.FilterChain, otherwise *listenerv3.FilterChain,
) (chain *listenerv3.FilterChain, refusal string) {
	const empty = "its filter chain has no filters"
	var choices []sourceChoice[*listenerv3.FilterChain]
	forAll := false
	for _, c := range named {
		ranges := s.sourceRanges(c)
		if len(ranges) == 0 {
			forAll = true
			ranges = []netip.Prefix{{}}
		}
		for _, r := range ranges {
			choices = append(choices, sourceChoice[*listenerv3.FilterChain]{r, c})
		}
	}
	if !forAll {
		choices = append(choices, sourceChoice[*listenerv3.FilterChain]{to: otherwise})
	}
	ranges := rangesOf(choices)
	goesOn := func(c *listenerv3.FilterChain) bool { return len(c.GetFilters()) > 0 }
	switch {
	case len(ranges) == 0:
		return choices[0].to, empty
	case s.client.IsValid():
		best, _ := chooseMostSpecific(choices, s.client)
		if !slices.ContainsFunc(choices, func(c sourceChoice[*listenerv3.FilterChain]) bool { return goesOn(c.to) }) {
			return best.to, empty // whatever the address
		}
		return best.to, explainRefusal(best.within, ranges)
	}
	equal := func(a, b *listenerv3.Filter) bool { return proto.Equal(a, b) }
	for _, c := range choices {
		if !slices.EqualFunc(c.to.GetFilters(), choices[0].to.GetFilters(), equal) {
			s.result.SourceRanges = ranges
		}
		if chain == nil || !goesOn(chain) && goesOn(c.to) {
			chain = c.to
		}
	}
	return chain, empty
}

// sourceRanges are the ranges that a chain's match states.
func (s *simulation) sourceRanges(c *listenerv3.FilterChain) (list []netip.Prefix) {
	for _, r := range c.GetFilterChainMatch().GetSourcePrefixRanges() {
		if p, ok := prefixOf(r); ok {
			list = append(list, p)
		} else {
			s.setUndecided("FilterChainMatch.source_prefix_ranges")
		}
	}
	return list
}

// cidr is a range of addresses as Envoy's API has it, or xDS's.
type cidr interface{ GetAddressPrefix() string }

func prefixOf(r cidr) (p netip.Prefix, ok bool) {
	address, err := netip.ParseAddr(r.GetAddressPrefix())
	bits := 0
	switch r := r.(type) {
	case *corev3.CidrRange:
		bits = int(r.GetPrefixLen().GetValue())
	case *xdscorev3.CidrRange:
		bits = int(r.GetPrefixLen().GetValue())
	}
	if err != nil {
		return p, false
	}
	p, err = address.Prefix(bits)
	return p, err == nil
}

// explainRefusal says why the connection of a client ends: it is in a range, or in none of them.
func explainRefusal(within netip.Prefix, ranges []netip.Prefix) string {
	if within.IsValid() {
		return "its client's address is refused: it is in " + within.String()
	}
	return "its client's address is refused: it is not in " + describeRanges(ranges)
}

func describeRanges(ranges []netip.Prefix) string {
	var words []string
	for _, r := range ranges {
		words = append(words, r.String())
	}
	return model.JoinSome(words)
}

// settleSource notes that what becomes of the connection depends on the client's address, unless it ends anyway.
func (s *simulation) settleSource() {
	switch r := &s.result; {
	case r.Closed != "" || r.Mismatch:
		r.SourceRanges = nil
	case len(r.SourceRanges) > 0:
		s.setUndecided("the client's address, which is compared with " + describeRanges(r.SourceRanges))
	}
}

// datagramRoute finds the route of a client's datagrams; nil if nothing can be said.
func (s *simulation) datagramRoute(m *xdsmatcherv3.Matcher) (route *udpproxyv3.Route, refusal string) {
	s.noteUnknownFields(m, "on_no_match", "matcher_tree")
	choices := []sourceChoice[*udpproxyv3.Route]{{to: s.routeOf(m.GetOnNoMatch())}}
	if tree := m.GetMatcherTree(); tree != nil {
		ranges := new(xdsmatcherv3.IPMatcher)
		if !tree.GetInput().GetTypedConfig().MessageIs(new(networkinputsv3.SourceIPInput)) ||
			tree.GetCustomMatch().GetTypedConfig().UnmarshalTo(ranges) != nil {
			s.setUndecided("UdpProxyConfig.matcher")
			return nil, ""
		}
		for _, own := range ranges.GetRangeMatchers() {
			s.noteUnknownFields(own, "ranges", "on_match")
			to := s.routeOf(own.GetOnMatch())
			for _, r := range own.GetRanges() {
				within, ok := prefixOf(r)
				if !ok {
					s.setUndecided("IPMatcher.ranges")
				}
				choices = append(choices, sourceChoice[*udpproxyv3.Route]{within, to})
			}
		}
	}
	if s.result.Undecided {
		return nil, ""
	}
	ranges := rangesOf(choices)
	isThere := func(c sourceChoice[*udpproxyv3.Route]) bool { return s.config.clusters[c.to.GetCluster()] != nil }
	best, _ := chooseMostSpecific(choices, s.client)
	switch served := slices.IndexFunc(choices, isThere); {
	case len(ranges) == 0, served < 0:
	case s.client.IsValid():
		refusal = explainRefusal(best.within, ranges)
	default:
		best = choices[served]
		if slices.ContainsFunc(choices, func(c sourceChoice[*udpproxyv3.Route]) bool { return !isThere(c) }) {
			s.result.SourceRanges = ranges
		}
	}
	return best.to, refusal
}

func (s *simulation) routeOf(m *xdsmatcherv3.Matcher_OnMatch) *udpproxyv3.Route {
	route := new(udpproxyv3.Route)
	if err := m.GetAction().GetTypedConfig().UnmarshalTo(route); err != nil {
		s.setUndecided("UdpProxyConfig.matcher")
	}
	return route
}
