package model

import "strings"

// EveryHost is the domain that covers every host.
const EveryHost = "*"

// HostnameDomain is the domain of a listener's hostname: "" takes every host.
func HostnameDomain(hostname string) string {
	if hostname == "" {
		return EveryHost
	}
	return hostname
}

// DomainCovers tells whether every host of narrow is a host of wide. A wildcard "*.host" stands for one label or more,
// so it covers "a.b.host" but not "host".
func DomainCovers(wide, narrow string) bool {
	if wide == EveryHost || wide == narrow {
		return true
	}
	return strings.HasPrefix(wide, "*.") && strings.HasSuffix(strings.TrimPrefix(narrow, "*"), wide[1:]) &&
		len(strings.TrimPrefix(narrow, "*")) >= len(wide[1:]) && narrow != wide[2:]
}

// MoreSpecific tells whether hostname a takes a request before b: exact before wildcard, a longer wildcard before a
// shorter one, anything before EveryHost.
func MoreSpecific(a, b string) bool {
	if ra, rb := rankHostname(a), rankHostname(b); ra != rb {
		return ra > rb
	}
	return len(a) > len(b)
}

func rankHostname(hostname string) int {
	switch {
	case hostname == EveryHost || hostname == "":
		return 0
	case strings.HasPrefix(hostname, "*."):
		return 1
	}
	return 2
}

// WiderDomains lists the domains that cover the given one and that the listener's hostname allows, from narrow to wide,
// without the domain itself.
func WiderDomains(domain, listener string) []string {
	listener = HostnameDomain(listener)
	var wider []string
	for rest := strings.TrimPrefix(domain, "*."); rest != EveryHost; {
		dot := strings.IndexByte(rest, '.')
		if dot < 0 {
			break
		}
		rest = rest[dot+1:]
		if w := "*." + rest; w != domain && DomainCovers(listener, w) {
			wider = append(wider, w)
		}
	}
	if domain != EveryHost && listener == EveryHost {
		wider = append(wider, EveryHost)
	}
	return wider
}
