package kubelet

import (
	"fmt"
	"net/netip"
	"sync"
)

// addresses gives addresses to pods. An address is used again as late as possible.
type addresses struct {
	within netip.Prefix
	mu     sync.Mutex
	last   netip.Addr
	taken  map[netip.Addr]bool
}

func newAddresses(within netip.Prefix) *addresses {
	return &addresses{within: within, last: within.Addr(), taken: map[netip.Addr]bool{}}
}

// take returns an address that no pod has.
func (a *addresses) take() (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	start := a.last
	for {
		a.last = a.last.Next()
		if !a.within.Contains(a.last) {
			a.last = a.within.Addr().Next()
		}
		if !a.taken[a.last] {
			a.taken[a.last] = true
			return a.last, nil
		}
		if a.last == start {
			return netip.Addr{}, fmt.Errorf("no address is free in %v", a.within)
		}
	}
}

func (a *addresses) release(address netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.taken, address)
}
