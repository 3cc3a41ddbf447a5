package resolve

import "strings"

// Every is the domain that covers every host.
const Every = "*"

// Domain is what a listener and a route share.
type Domain struct {
	Name     string // Every, "host" or "*.host"
	Original string // the route's hostname that led to it, or Every: precedence goes by this one
}

// Hostnames intersects a listener's hostname ("" takes every host) with a route's (none: every host), as
// HTTPRouteSpec.hostnames says. The narrower name of a pair that matches is the domain. A domain that several of the
// route's hostnames lead to is listed once, with the most specific of them. Nothing shared: nil.
func Hostnames(listener string, route []string) []Domain {
	if listener == "" {
		listener = Every
	}
	listener = strings.ToLower(listener)
	if len(route) == 0 {
		return []Domain{{Name: listener, Original: Every}}
	}
	var shared []Domain
	for _, h := range route {
		h = strings.ToLower(h)
		var name string
		switch {
		case Covers(listener, h):
			name = h
		case Covers(h, listener):
			name = listener
		default:
			continue
		}
		shared = addDomain(shared, Domain{Name: name, Original: h})
	}
	return shared
}

func addDomain(list []Domain, d Domain) []Domain {
	for i := range list {
		if list[i].Name == d.Name {
			if MoreSpecific(d.Original, list[i].Original) {
				list[i].Original = d.Original
			}
			return list
		}
	}
	return append(list, d)
}

// Covers tells whether every host of narrow is a host of wide. A wildcard "*.host" stands for one label or more, so it
// covers "a.b.host" but not "host".
func Covers(wide, narrow string) bool {
	if wide == Every || wide == narrow {
		return true
	}
	return strings.HasPrefix(wide, "*.") && strings.HasSuffix(strings.TrimPrefix(narrow, "*"), wide[1:]) &&
		len(strings.TrimPrefix(narrow, "*")) >= len(wide[1:]) && narrow != wide[2:]
}

// MoreSpecific tells whether hostname a takes a request before b: exact before wildcard, a longer wildcard before a
// shorter one, anything before Every.
func MoreSpecific(a, b string) bool {
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra > rb
	}
	return len(a) > len(b)
}

func rank(hostname string) int {
	switch {
	case hostname == Every || hostname == "":
		return 0
	case strings.HasPrefix(hostname, "*."):
		return 1
	}
	return 2
}

// Wider lists the domains that cover the given one and that the listener's hostname allows, from narrow to wide, without
// the domain itself.
func Wider(domain, listener string) []string {
	if listener == "" {
		listener = Every
	}
	var wider []string
	for rest := strings.TrimPrefix(domain, "*."); rest != Every; {
		dot := strings.IndexByte(rest, '.')
		if dot < 0 {
			break
		}
		rest = rest[dot+1:]
		if w := "*." + rest; w != domain && Covers(listener, w) {
			wider = append(wider, w)
		}
	}
	if domain != Every && listener == Every {
		wider = append(wider, Every)
	}
	return wider
}
