package request

import (
	"net/netip"
	"slices"
)

// Connection is a connection as a client begins it, or a session of datagrams: those that come from one address.
type Connection struct {
	Address string // IP address that the client connects to; "" is any that a listener of the port has
	Port    uint32 // that is bound
	// Client is the client's address, as the proxy knows it; zero: it is not known.
	Client    netip.Addr
	Datagrams bool   // over UDP; else over TCP
	TLS       bool   // it begins with a TLS handshake
	SNI       string // of the handshake; "": it names no server
}

// ClientsOf are addresses that show what is decided by ranges of clients' addresses: one of each range that is in no
// narrower one, and one that is in none, as far as there are such addresses.
func ClientsOf(ranges []netip.Prefix) (list []netip.Addr) {
	if len(ranges) == 0 {
		return nil
	}
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, netip.Prefix.Compare)
	ranges = slices.Compact(ranges)
	widest := []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}
	if !slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Addr().Is4() }) {
		widest = []netip.Prefix{netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
	}
	for i, r := range append(ranges, widest...) {
		if i >= len(ranges) && slices.Contains(ranges, r) {
			continue
		}
		var narrower []netip.Prefix
		for _, other := range ranges {
			if other != r && r.Overlaps(other) && other.Bits() > r.Bits() {
				narrower = append(narrower, other)
			}
		}
		if client, found := addressBeside(r, narrower); found {
			list = append(list, client)
		}
	}
	return list
}

// addressBeside finds an address of a range that is in none of those, which are parts of it.
func addressBeside(r netip.Prefix, parts []netip.Prefix) (client netip.Addr, found bool) {
	isFree := func(a netip.Addr) bool {
		return a.IsValid() && !a.IsUnspecified() && r.Contains(a) &&
			!slices.ContainsFunc(parts, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	candidates := []netip.Addr{r.Addr(), r.Addr().Next()}
	if r.Bits() == 0 { // those of documentation, which stand for anyone
		candidates = []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, 1}), netip.MustParseAddr("2001:db8::1")}
	}
	for _, p := range parts {
		candidates = append(candidates, p.Addr().Prev(), lastAddress(p).Next())
	}
	i := slices.IndexFunc(candidates, isFree)
	if i < 0 {
		return client, false
	}
	return candidates[i], true
}

// lastAddress is the last one of a range.
func lastAddress(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(b); bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}
