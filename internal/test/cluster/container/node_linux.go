package container

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Local makes this network namespace a node of a cluster: it forwards packets between pods, every address of the ranges
// is local, so that any process can listen on any of them, and pods may watch as many files as on a node that is set up
// for that. The returned function removes the ranges.
func Local(ranges ...netip.Prefix) (away func(), err error) {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return nil, err
	}
	if err := moreInotify(); err != nil {
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

// inotifyInstances is how many instances of inotify all processes of a user may have. An Envoy that reads files has one
// for each, and ends at its start if it gets none; Linux gives a user 128.
const inotifyInstances = 1024

// moreInotify raises the limit, which is one for the whole machine. It stays raised.
func moreInotify() error {
	const path = "/proc/sys/fs/inotify/max_user_instances"
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || n >= inotifyInstances {
		return err
	}
	return os.WriteFile(path, []byte(strconv.Itoa(inotifyInstances)), 0)
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
