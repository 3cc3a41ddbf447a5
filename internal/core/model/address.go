package model

import (
	"net/netip"
	"slices"
)

// MetadataNetworks are the networks at which machines find their own credentials; docs/adr/0037-what-is-fetched.md says
// where each is documented.
var MetadataNetworks = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),         // link-local: most clouds
	netip.MustParsePrefix("fe80::/10"),              // link-local
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure, of its agent
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba Cloud
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle Cloud at Customer
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud
	netip.MustParsePrefix("fd00:ec2::254/128"),      // AWS
	netip.MustParsePrefix("fd00:ec2::23/128"),       // AWS, of pods
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud, of machines without IPv4
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"),  // Akamai (Linode)
}

// nat64 are the networks in which IPv4 addresses are the last 32 bits of IPv6 ones (RFC 6052, RFC 8215).
var nat64 = []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48")}

// sixToFour has IPv4 addresses behind its 16 bits (RFC 3056).
var sixToFour = netip.MustParsePrefix("2002::/16")

// IsMetadata tells whether an address is of the kind at which machines find their own credentials. Nothing that users
// state is fetched from there.
func IsMetadata(a netip.Addr) bool { return InNetworks(a, MetadataNetworks) }

// InNetworks tells whether an address leads into one of some networks, as it is or as the IPv4 address that it carries.
func InNetworks(a netip.Addr, networks []netip.Prefix) bool {
	a = a.Unmap().WithZone("")
	meant := []netip.Addr{a, embeddedIPv4(a)}
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return slices.ContainsFunc(meant, n.Contains) })
}

// embeddedIPv4 is the IPv4 address to which a translator or a tunnel sends what is for an IPv6 address; zero: none is
// known.
func embeddedIPv4(a netip.Addr) netip.Addr {
	b := a.As16()
	switch {
	case slices.ContainsFunc(nat64, func(n netip.Prefix) bool { return n.Contains(a) }):
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return netip.Addr{}
}

// NAT64Prefix is the network of IPv6 in which a translator has an IPv4 one (RFC 6052); zero for one of IPv6.
func NAT64Prefix(n netip.Prefix) netip.Prefix {
	if !n.Addr().Is4() {
		return netip.Prefix{}
	}
	b, v4 := nat64[0].Addr().As16(), n.Addr().As4()
	copy(b[12:], v4[:])
	return netip.PrefixFrom(netip.AddrFrom16(b), 96+n.Bits())
}
