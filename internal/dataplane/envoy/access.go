package envoy

import (
	"net/netip"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
)

// Which connections are taken is decided by filter chains, before a backend is dialled. A network filter (RBAC) would
// decide when the client has sent its first byte: a server that speaks first would have been heard by then.
//
// Of several chains the one with the most specific name counts, and of those the one with the most specific range of
// the client's address. So the names and ranges that rules state divide all connections into regions, and in each of
// them all rules have one answer.

// accessRules are those of all features; a connection has to pass all of them.
type accessRules []extendenvoy.ConnectionRules

// sourceRanges are ranges of clients' addresses, of which the most specific counts.
type sourceRanges struct {
	Taken, Refused []netip.Prefix
	Others         bool // whether those of no range are taken
}

// rangesFor divides the connections of a region of names: those to "host", those below "*.host" to which no other
// region leads, or "", those without a name and those with any other.
func (rules accessRules) rangesFor(name string) (r sourceRanges) {
	stated := rules.statedRanges()
	r.Others = rules.takes(name, netip.Prefix{})
	decisions := make(map[netip.Prefix]bool, len(stated))
	for _, p := range stated { // the widest first
		taken, around := rules.takes(name, p), r.Others
		for i := len(stated) - 1; i >= 0; i-- {
			if wider := stated[i]; wider != p && containsRange(wider, p) {
				around = decisions[wider]
				break
			}
		}
		decisions[p] = taken
		switch {
		case taken == around: // the wider one decides
		case taken:
			r.Taken = append(r.Taken, p)
		default:
			r.Refused = append(r.Refused, p)
		}
	}
	return r
}

// statedRanges are all ranges that the rules name, the widest first.
func (rules accessRules) statedRanges() (list []netip.Prefix) {
	rules.eachParts(func(p extend.RequestParts) {
		for _, cidr := range p.ClientCIDRs {
			if r, err := netip.ParsePrefix(cidr); err == nil {
				list = append(list, r.Masked())
			}
		}
	})
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		if a.Bits() != b.Bits() {
			return a.Bits() - b.Bits()
		}
		return a.Addr().Compare(b.Addr())
	})
	return slices.Compact(list)
}

// namesBelow are the names that rules state, for which connections to a domain are divided: those to which the domain
// leads and none of other, more specific ones does. They are sorted; the domain itself is the first.
func (rules accessRules) namesBelow(domain string, others []string) []string {
	var list []string
	rules.eachParts(func(p extend.RequestParts) {
		for _, host := range p.Hosts {
			for _, name := range spellings(host) {
				nearest := func(other string) bool {
					return other == name || containsName(domain, other) && other != domain && containsName(other, name)
				}
				if name != domain && containsName(domain, name) && !slices.ContainsFunc(others, nearest) {
					list = append(list, name)
				}
			}
		}
	})
	slices.Sort(list)
	return append([]string{domain}, slices.Compact(list)...)
}

// spellings are the server names by which Envoy knows a host. It lower-cases names, and takes one with a dot at its end
// for another one: such a name gets to no chain of the host, but to the one for all names.
func spellings(host string) []string {
	host = plainName(host)
	return []string{host, host + "."}
}

// plainName is the host of a server name.
func plainName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// eachParts calls yield for the parts of all matches.
func (rules accessRules) eachParts(yield func(extend.RequestParts)) {
	for _, r := range rules {
		for _, list := range [][]extendenvoy.ConnectionMatches{r.Deny, r.Require, r.Allow} {
			for _, entry := range list {
				for _, m := range entry {
					yield(m.RequestParts)
					if m.Not != nil {
						yield(*m.Not)
					}
				}
			}
		}
	}
}

// takes tells whether the connections of a region are taken; the zero range: those of none of the ranges.
func (rules accessRules) takes(name string, from netip.Prefix) bool {
	for _, r := range rules {
		matches := func(entry extendenvoy.ConnectionMatches) bool {
			return slices.ContainsFunc(entry, func(m extend.RequestMatch) bool {
				return matchesRegion(m.RequestParts, name, from) && (m.Not == nil || !matchesRegion(*m.Not, name, from))
			})
		}
		if slices.ContainsFunc(r.Deny, matches) || len(r.Allow) > 0 && !slices.ContainsFunc(r.Allow, matches) ||
			slices.ContainsFunc(r.Require, func(e extendenvoy.ConnectionMatches) bool { return !matches(e) }) {
			return false
		}
	}
	return true
}

func matchesRegion(p extend.RequestParts, name string, from netip.Prefix) bool {
	within := func(cidr string) bool {
		r, err := netip.ParsePrefix(cidr)
		return err == nil && containsRange(r.Masked(), from)
	}
	below := func(host string) bool { return containsName(plainName(host), plainName(name)) }
	return (len(p.ClientCIDRs) == 0 || slices.ContainsFunc(p.ClientCIDRs, within)) &&
		(len(p.Hosts) == 0 || slices.ContainsFunc(p.Hosts, below))
}

// containsRange tells whether all addresses of a range are in another one. The zero range is in none.
func containsRange(outer, inner netip.Prefix) bool {
	return inner.IsValid() && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// containsName tells whether a name, or all names below "*.host", are what another one takes; "" takes all.
func containsName(outer, inner string) bool {
	suffix, wildcard := strings.CutPrefix(outer, "*")
	return outer == "" || outer == inner || wildcard && strings.HasSuffix(inner, suffix) && inner != "*"+suffix
}

// divideChain makes of a filter chain those that take and refuse the connections to a name by their clients' addresses.
func (rules accessRules) divideChain(chain *listenerv3.FilterChain, name string) []*listenerv3.FilterChain {
	ranges := rules.rangesFor(name)
	with := func(suffix string, takes bool, of []netip.Prefix) *listenerv3.FilterChain {
		part := &listenerv3.FilterChain{
			Name: chain.Name + suffix, TransportSocket: chain.TransportSocket,
			TransportSocketConnectTimeout: chain.TransportSocketConnectTimeout, FilterChainMatch: chainMatch(name),
		}
		if takes {
			part.Filters = chain.Filters
		} else {
			part.TransportSocket, part.TransportSocketConnectTimeout = nil, nil // closed before a handshake
		}
		for _, r := range of {
			if part.FilterChainMatch == nil {
				part.FilterChainMatch = new(listenerv3.FilterChainMatch)
			}
			part.FilterChainMatch.SourcePrefixRanges = append(part.FilterChainMatch.SourcePrefixRanges, cidrRange(r))
		}
		return part
	}
	list := []*listenerv3.FilterChain{with("", ranges.Others, nil)}
	if len(ranges.Taken) > 0 {
		list = append(list, with(" taken", true, ranges.Taken))
	}
	if len(ranges.Refused) > 0 {
		list = append(list, with(" refused", false, ranges.Refused))
	}
	return list
}

func cidrRange(r netip.Prefix) *corev3.CidrRange { return extendenvoy.CIDR(r.String()) }

// chainMatch takes the connections to a name; nil for "".
func chainMatch(name string) *listenerv3.FilterChainMatch {
	if name == "" {
		return nil
	}
	return &listenerv3.FilterChainMatch{ServerNames: []string{strings.ToLower(name)}}
}
