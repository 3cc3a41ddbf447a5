package model

import (
	"fmt"
	"net/netip"
	"strings"
)

// HostProblem says why a hostname that users state can't be looked up by a program; "": it can. Where the program is a
// pod of a cluster, domain is its DNS domain: a name there that means the program itself, or whatever the cluster has
// of that name, would reach what no ReferenceGrant permits. Nothing is known here of what other names resolve to. who
// is the program, and instead what to state for a name of the cluster.
func HostProblem(host, domain, who, instead string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := netip.ParseAddr(host); err == nil || strings.Trim(last, "0123456789") == "" {
		return fmt.Sprintf("%q is an IP address; write a hostname that resolves to it, or name a Service whose "+
			"EndpointSlice has the address", host)
	}
	under := func(zone string) bool { return host == zone || strings.HasSuffix(host, "."+zone) }
	switch {
	case domain == "":
		return ""
	case strings.ContainsFunc(host, func(c rune) bool { return c > '~' }):
		return fmt.Sprintf("%q is not in ASCII; write its labels as xn--...", host)
	case under("localhost") || under("localdomain"):
		return fmt.Sprintf("%q is the %s's own machine; state a name outside of the cluster", host, who)
	case last == host:
		return fmt.Sprintf("%q has one label only, which may be a Service; state a whole name, such as %s.example.com", host,
			host)
	case under("svc"), under(domain):
		return fmt.Sprintf("%q is a name of the cluster (svc, %s); %s", host, domain, instead)
	}
	return ""
}
