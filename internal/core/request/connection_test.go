package request

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestClientsOf: each range has a client that no narrower one has, and somebody is in none of them.
func TestClientsOf(t *testing.T) {
	for _, c := range []struct {
		ranges []string
		want   string
	}{
		{nil, "[]"},
		{[]string{"10.0.0.0/8"}, "[10.0.0.0 192.0.2.1]"},
		{[]string{"10.0.0.0/8", "10.0.0.0/16", "10.0.0.0/8"}, "[10.1.0.0 10.0.0.0 192.0.2.1]"},
		{[]string{"0.0.0.0/0", "192.0.2.0/24"}, "[192.0.1.255 192.0.2.0]"},
		{[]string{"10.0.0.0/31", "10.0.0.0/32", "10.0.0.1/32"}, "[10.0.0.0 10.0.0.1 192.0.2.1]"}, // the first is covered
		{[]string{"2001:db8::/32"}, "[2001:db8:: 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff]"},
		{[]string{"128.0.0.0/1", "2001:db8::/32"}, "[128.0.0.0 2001:db8:: 127.255.255.255]"},
	} {
		var ranges []netip.Prefix
		for _, r := range c.ranges {
			ranges = append(ranges, netip.MustParsePrefix(r))
		}
		if got := fmt.Sprint(ClientsOf(ranges)); got != c.want {
			t.Errorf("%v: %s, want %s", c.ranges, got, c.want)
		}
	}
}
