package extend

import (
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// CheckCIDR tells what is wrong with a range of addresses. It is written as 10.0.0.0/8 or 2001:db8::/32.
func CheckCIDR(cidr string) []Problem {
	return collect(func(f findings) { checkCIDR(f, cidr) })
}

// CIDR is a range of addresses as Envoy has it; nil if CheckCIDR finds a problem.
func CIDR(cidr string) *corev3.CidrRange {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil
	}
	return &corev3.CidrRange{
		AddressPrefix: prefix.Addr().String(), PrefixLen: wrapperspb.UInt32(uint32(prefix.Bits())),
	}
}

// CheckHeaderName tells what is wrong with the name of a header.
func CheckHeaderName(name string) []Problem {
	return collect(func(f findings) {
		if !isToken(name) {
			f.add("%q is not the name of a header", name)
		}
	})
}
