package controller

import (
	"net/netip"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// TestReach: key sets are not fetched from this machine, the API server and what a flag excepts; private networks, in
// which identity providers often are, are not among these.
func TestReach(t *testing.T) {
	o := Options{ClusterDomain: "cluster.local", FetchExcept: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for server, address := range map[string]string{
		"https://10.96.0.1:443": "10.96.0.1", "https://[fd00::1]:443": "fd00::1", "10.96.0.1": "10.96.0.1",
		"https://api.example:6443": "127.0.0.1",
	} {
		r := o.fetchReach(server)
		for of, want := range map[string]bool{
			address: true, "127.0.0.1": true, "::1": true, "0.0.0.0": true, "10.1.2.3": true, "64:ff9b::a01:203": true,
			"10.96.0.2": false, "10.2.0.1": false, "192.168.0.1": false, "fd00::2": false,
		} {
			if got := model.InNetworks(netip.MustParseAddr(of), r.Except); got != want {
				t.Errorf("%s with the API server %s: excepted %t, want %t", of, server, got, want)
			}
		}
		if r.ClusterDomain != o.ClusterDomain {
			t.Errorf("%+v", r)
		}
	}
}
