package envoy

import (
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

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
