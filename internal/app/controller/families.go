package controller

import "net"

// The addresses that mean all addresses of an IP family. Envoy's IPv6 listeners do not take IPv4, unless configured to.
const (
	allIPv4 = "0.0.0.0"
	allIPv6 = "::"
)

// bindAddresses returns the addresses that proxies bind: for each IP family in which the host or pod of this program
// has an address, all addresses. The pods of a cluster have the same families. If there is none, it is IPv4.
func bindAddresses(own []net.Addr) (bind []string) {
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
