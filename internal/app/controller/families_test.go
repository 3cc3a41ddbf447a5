package controller

import (
	"net"
	"slices"
	"testing"
)

func TestFamilies(t *testing.T) {
	for name, c := range map[string]struct{ own, bind []string }{
		"IPv4":       {[]string{"127.0.0.1/8", "::1/128", "10.98.0.7/32", "fe80::1/64"}, []string{"0.0.0.0"}},
		"IPv6":       {[]string{"127.0.0.1/8", "::1/128", "fd00::7/64", "fe80::1/64"}, []string{"::"}},
		"dual stack": {[]string{"2001:db8::7/64", "10.98.0.7/32"}, []string{"0.0.0.0", "::"}},
		"nothing":    {[]string{"127.0.0.1/8"}, []string{"0.0.0.0"}},
	} {
		var own []net.Addr
		for _, text := range c.own {
			ip, network, err := net.ParseCIDR(text)
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, &net.IPNet{IP: ip, Mask: network.Mask})
		}
		if got := bindAddresses(own); !slices.Equal(got, c.bind) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
