package gateway

import (
	"fmt"
	"net/netip"
	"strings"
)

// hostProblem says why proxies can't be told to look a hostname up; "": they can. Where the proxies are pods of a
// cluster, domain is its DNS domain: a name there that means the proxy itself, or whatever the cluster has of that
// name, would reach what no ReferenceGrant permits. What other names resolve to is not known here.
func hostProblem(host, domain string) string {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := netip.ParseAddr(host); err == nil || strings.Trim(last, "0123456789") == "" {
		return fmt.Sprintf("%q is an IP address; state a hostname, such as backend.example.com", host)
	}
	under := func(zone string) bool { return host == zone || strings.HasSuffix(host, "."+zone) }
	const instead = "refer to the Service, or use type EndpointSelector"
	switch {
	case domain == "":
		return ""
	case under("localhost") || under("localdomain"):
		return fmt.Sprintf("%q is the proxy's own machine; state a name outside of the cluster", host)
	case last == host:
		return fmt.Sprintf("%q has one label only, which may be a Service; state a whole name, such as %s.example.com", host,
			host)
	case under("svc"), under(domain):
		return fmt.Sprintf("%q is a name of the cluster (svc, %s); %s", host, domain, instead)
	}
	return ""
}
