package container

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Local makes this network namespace a node of a cluster: it forwards packets between pods, and every address of the
// ranges is local, so that any process can listen on any of them. The returned function removes the ranges.
func Local(ranges ...netip.Prefix) (away func(), err error) {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return nil, err
	}
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	var added []*netlink.Addr
	away = func() {
		for _, address := range added {
			_ = netlink.AddrDel(loopback, address) // on failure it is gone with the namespace
		}
	}
	for _, r := range ranges {
		first := r.Addr()
		if !r.IsSingleIP() {
			first = first.Next()
		}
		address := &netlink.Addr{IPNet: network(netip.PrefixFrom(first, r.Bits()))}
		if err := netlink.AddrAdd(loopback, address); err != nil {
			away()
			return nil, fmt.Errorf("take %v: %w", r, err)
		}
		added = append(added, address)
	}
	return away, nil
}

// Cover replaces a file in this mount namespace by text.
func Cover(path, text string) error {
	file, err := os.CreateTemp("/run", "cover-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // the mount keeps it
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		return err
	}
	_ = unix.Unmount(path, unix.MNT_DETACH) // an earlier cover; most often there is none
	if err := unix.Mount(file.Name(), path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("cover %s: %w", path, err)
	}
	return nil
}

func network(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
