package model

import (
	"net/netip"
	"testing"
)

func TestIsMetadata(t *testing.T) {
	for address, want := range map[string]bool{
		"169.254.169.254": true, "169.254.0.1": true, "::ffff:169.254.169.254": true, "fd00:ec2::254": true,
		"fe80::a9fe:a9fe": true, "fe80::1%eth0": true, "fd00:ec2::254%eth0": true,
		"169.253.169.254": false, "10.0.0.1": false, "127.0.0.1": false, "::1": false, "fd00:ec2::253": false,
	} {
		if got := IsMetadata(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
