package model

import (
	"net/netip"
	"testing"
)

func TestIsMetadata(t *testing.T) {
	for address, want := range map[string]bool{
		"169.254.169.254": true, "169.254.0.1": true, "::ffff:169.254.169.254": true, "fd00:ec2::254": true,
		"fe80::a9fe:a9fe": true, "fe80::1%eth0": true, "fd00:ec2::254%eth0": true,
		"168.63.129.16": true, "100.100.100.200": true, "64:ff9b::a9fe:a9fe": true, "64:ff9b::a83f:8110": true,
		"64:ff9b:1::6464:64c8": true, "2002:a9fe:a9fe::1": true, "fd20:ce::254": true,
		"fd00:ec2::23": true, "192.0.0.192": true, "fd00:c1::a9fe:a9fe": true, "fd00:42::42": true,
		"fd00:a9fe:a9fe::1": true, "fd00:a9fe:a9fe::2": false,
		"169.253.169.254": false, "10.0.0.1": false, "127.0.0.1": false, "::1": false, "fd00:ec2::253": false,
		"64:ff9b::a00:1": false, "2002:a00:1::": false, "168.63.129.17": false, "100.100.100.201": false,
	} {
		if got := IsMetadata(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
