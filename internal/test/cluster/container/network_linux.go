package container

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"cardea.dev/cardea/internal/test/cluster/sandbox"
)

// gateway is the next hop of every pod: an address that exists only in the pods' routing tables.
var gateway = netip.MustParseAddr("169.254.1.1")

// Network is the network namespace of a pod, with one address.
//
//	node  podXXXX <------------------------------> eth0  pod
//	      route ADDRESS/32 via podXXXX                   route 169.254.1.1/32 via eth0, default via 169.254.1.1
//
// Both ends know each other's link address, so ARP is never needed.
type Network struct {
	Address netip.Addr
	link    netlink.Link // the node's end

	mu    sync.RWMutex // of who uses the namespace, against Close
	space netns.NsHandle
}

// NewNetwork makes a network namespace and routes address to it. The node's connections to it come from node. sysctls
// are written there, such as net.ipv4.ip_unprivileged_port_start.
func NewNetwork(address, node netip.Addr, sysctls map[string]string) (n *Network, err error) {
	n = &Network{Address: address, space: netns.None()}
	defer func() {
		if err != nil {
			n.Close()
			n, err = nil, fmt.Errorf("network of %v: %w", address, err)
		}
	}()
	err = sandbox.OnThread(func() (err error) {
		n.space, err = netns.New()
		for name, value := range sysctls {
			if err == nil {
				path := filepath.Join("/proc/sys", filepath.Clean("/"+strings.ReplaceAll(name, ".", "/")))
				err = os.WriteFile(path, []byte(value), 0)
			}
		}
		return err
	})
	if err != nil {
		return n, err
	}
	b := address.As4()
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("pod%02x%02x", b[2], b[3])},
		PeerName:  "eth0", PeerNamespace: netlink.NsFd(n.space),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return n, err
	}
	n.link = veth
	inside, err := netlink.NewHandleAt(n.space)
	if err != nil {
		return n, err
	}
	defer inside.Close()
	return n, n.wire(inside, node)
}

// wire sets up both ends.
func (n *Network) wire(inside *netlink.Handle, node netip.Addr) error {
	// The link addresses are known only after a query.
	here, err := netlink.LinkByName(n.link.Attrs().Name)
	if err != nil {
		return err
	}
	there, err := inside.LinkByName("eth0")
	if err != nil {
		return err
	}
	loopback, err := inside.LinkByName("lo")
	if err != nil {
		return err
	}
	const permanent = netlink.NUD_PERMANENT
	hop, hereIndex, thereIndex := gateway.AsSlice(), here.Attrs().Index, there.Attrs().Index
	for _, step := range []func() error{
		func() error { return inside.LinkSetUp(loopback) },
		func() error { return inside.AddrAdd(there, &netlink.Addr{IPNet: single(n.Address)}) },
		func() error { return inside.LinkSetUp(there) },
		func() error { return netlink.LinkSetUp(here) },
		func() error {
			return inside.NeighAdd(&netlink.Neigh{LinkIndex: thereIndex, State: permanent, IP: hop,
				HardwareAddr: here.Attrs().HardwareAddr})
		},
		func() error {
			return inside.RouteAdd(&netlink.Route{LinkIndex: thereIndex, Scope: netlink.SCOPE_LINK, Dst: single(gateway)})
		},
		func() error { return inside.RouteAdd(&netlink.Route{LinkIndex: thereIndex, Gw: hop}) },
		func() error {
			ip, link := n.Address.AsSlice(), there.Attrs().HardwareAddr
			return netlink.NeighAdd(&netlink.Neigh{LinkIndex: hereIndex, State: permanent, IP: ip, HardwareAddr: link})
		},
		func() error {
			return netlink.RouteAdd(&netlink.Route{LinkIndex: hereIndex, Scope: netlink.SCOPE_LINK, Dst: single(n.Address),
				Src: node.AsSlice()})
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Dial connects to a port of the network's loopback interface.
func (n *Network) Dial(ctx context.Context, port uint16) (conn net.Conn, err error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if !n.space.IsOpen() {
		return nil, net.ErrClosed
	}
	err = sandbox.OnThread(func() (err error) {
		if err := netns.Set(n.space); err != nil {
			return fmt.Errorf("enter the network of %v: %w", n.Address, err)
		}
		// A socket belongs to the network namespace of the thread that made it.
		for _, ip := range []string{"127.0.0.1", "::1"} {
			if conn, err = new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(ip, strconv.Itoa(int(port)))); err == nil {
				return nil
			}
		}
		return err
	})
	return conn, err
}

// Close deletes the network. Programs that still run in it keep their loopback interface.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link != nil {
		_ = netlink.LinkDel(n.link) // deletes the other end and the routes, too
	}
	if n.space.IsOpen() {
		_ = n.space.Close()
	}
}

func single(address netip.Addr) *net.IPNet {
	return network(netip.PrefixFrom(address, address.BitLen()))
}
