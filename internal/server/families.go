package server

import "net"

// All addresses of a family of IP. Envoy binds IPv6's without IPv4's, unless it is told otherwise.
const (
	allIPv4 = "0.0.0.0"
	allIPv6 = "::"
)

// families are the addresses that proxies bind, by the addresses of the host or pod that this program runs in: all of
// each family that it has. Pods of one cluster have the same families. Where nothing tells, it is IPv4.
func families(own []net.Addr) (bind []string) {
	has := map[string]bool{}
	for _, a := range own {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			has[allOf(ip.IP)] = true
		}
	}
	for _, all := range []string{allIPv4, allIPv6} {
		if has[all] {
			bind = append(bind, all)
		}
	}
	if len(bind) == 0 {
		bind = []string{allIPv4}
	}
	return bind
}

func allOf(ip net.IP) string {
	if ip.To4() != nil {
		return allIPv4
	}
	return allIPv6
}
