package envoy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
)

func connectionMatch(hosts, cidrs, not []string) extendenvoy.ConnectionMatches {
	m := extend.RequestMatch{RequestParts: extend.RequestParts{Hosts: hosts, ClientCIDRs: cidrs}}
	if len(not) > 0 {
		m.Not = &extend.RequestParts{ClientCIDRs: not}
	}
	return extendenvoy.ConnectionMatches{m}
}

// TestSourceRanges: the most specific range that rules name decides, and ranges that a wider one decides are left out.
func TestSourceRanges(t *testing.T) {
	office := []extendenvoy.ConnectionMatches{connectionMatch(nil, []string{"10.0.0.0/8", "10.1.0.0/16"}, nil)}
	guests := []extendenvoy.ConnectionMatches{connectionMatch(nil, []string{"10.1.2.0/24"}, []string{"10.1.2.3/32"})}
	for _, c := range []struct {
		rules extendenvoy.ConnectionRules
		want  string
	}{
		{extendenvoy.ConnectionRules{Allow: office}, "{[10.0.0.0/8] [] false}"},
		{extendenvoy.ConnectionRules{Deny: office}, "{[] [10.0.0.0/8] true}"},
		{extendenvoy.ConnectionRules{Allow: office, Deny: guests}, "{[10.0.0.0/8 10.1.2.3/32] [10.1.2.0/24] false}"},
		{extendenvoy.ConnectionRules{Require: slices.Concat(office, guests)}, "{[10.1.2.0/24] [10.1.2.3/32] false}"},
		{extendenvoy.ConnectionRules{Allow: []extendenvoy.ConnectionMatches{
			connectionMatch([]string{"a.example"}, nil, nil),
		}}, "{[] [] false}"},
	} {
		if got := fmt.Sprint(accessRules{c.rules}.rangesFor("")); got != c.want {
			t.Errorf("%v: %s, want %s", c.rules, got, c.want)
		}
	}
}

// TestRangesDecideAsRules: for any rules, names and addresses the chains decide as the rules do.
func TestRangesDecideAsRules(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	cidrs := []string{"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "fd00::/8", "fd00::1/128"}
	hosts := []string{"a.example", "*.example", "*.a.example", "b.a.example"}
	some := func(list []string) (chosen []string) {
		for _, one := range list {
			if random.IntN(4) == 0 {
				chosen = append(chosen, one)
			}
		}
		return chosen
	}
	entries := func() (list []extendenvoy.ConnectionMatches) {
		for range random.IntN(3) {
			list = append(list, connectionMatch(some(hosts), some(cidrs), some(cidrs)))
		}
		return list
	}
	for range 2000 {
		rules := accessRules{{Deny: entries(), Require: entries(), Allow: entries()}}
		domains := []string{"", "*.example"}
		for _, name := range []string{"", "other.test", "a.example", "x.a.example", "b.a.example", "x.example",
			"a.example.", "b.a.example.", "other.test."} {
			region := nearestRegion(rules, domains, name)
			ranges := rules.rangesFor(region)
			for _, text := range []string{"10.1.2.3", "10.1.2.4", "10.1.3.4", "10.2.3.4", "11.0.0.1", "fd00::1", "fe00::1"} {
				address := netip.MustParseAddr(text)
				want := rules.takes(name, netip.PrefixFrom(address, address.BitLen()))
				if got := ranges.take(address); got != want {
					t.Fatalf("%+v: %q from %s is taken: %t, want %t (region %q: %+v)", rules, name, text, got, want, region, ranges)
				}
			}
		}
	}
}

// nearestRegion is the most specific of all chains' names that takes a name.
func nearestRegion(rules accessRules, domains []string, name string) (nearest string) {
	for _, domain := range domains {
		for _, region := range rules.namesBelow(domain, domains) {
			if containsName(region, name) && containsName(nearest, region) {
				nearest = region
			}
		}
	}
	return nearest
}

// take is what Envoy makes of ranges: the most specific one counts.
func (r sourceRanges) take(from netip.Addr) bool {
	taken, bits := r.Others, -1
	for i, list := range [][]netip.Prefix{r.Taken, r.Refused} {
		for _, p := range list {
			if p.Contains(from) && p.Bits() > bits {
				taken, bits = i == 0, p.Bits()
			}
		}
	}
	return taken
}

// TestNamesBelow: connections to a domain are divided by the names that rules state for it, but for those of other
// chains. The chain for all names also gets names with a dot at the end.
func TestNamesBelow(t *testing.T) {
	rules := accessRules{{Deny: []extendenvoy.ConnectionMatches{
		connectionMatch([]string{"A.ex", "x.shop.ex", "*.b.ex"}, nil, nil),
	}}}
	for _, c := range []struct {
		domain string
		others []string
		want   string
	}{
		{"*.ex", []string{"*.ex"}, "[*.ex *.b.ex a.ex x.shop.ex]"},
		{"*.ex", []string{"*.ex", "*.shop.ex"}, "[*.ex *.b.ex a.ex]"},
		{"*.ex", []string{"", "a.ex", "x.shop.ex", "y.b.ex"}, "[*.ex *.b.ex]"},
		{"", []string{"*.ex"}, "[ *.b.ex. a.ex. x.shop.ex.]"},
		{"", []string{"", "*.b.ex"}, "[ *.b.ex. a.ex a.ex. x.shop.ex x.shop.ex.]"},
	} {
		if got := fmt.Sprint(rules.namesBelow(c.domain, c.others)); got != c.want {
			t.Errorf("%q beside %q: %s, want %s", c.domain, c.others, got, c.want)
		}
	}
	for name, taken := range map[string]bool{"a.ex.": false, "*.b.ex.": false, "": true} {
		if got := rules.rangesFor(name).Others; got != taken {
			t.Errorf("%q is taken: %t", name, got)
		}
	}
}
