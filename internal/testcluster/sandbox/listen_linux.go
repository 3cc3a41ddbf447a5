package sandbox

import (
	"context"
	"fmt"
	"net"
	"runtime"

	"github.com/vishvananda/netns"
)

// Listen listens in the network outside, so that programs there can reach the one inside. It is called inside.
func Listen(ctx context.Context, network, address string) (net.Listener, error) {
	type result struct {
		listener net.Listener
		err      error
	}
	done := make(chan result)
	go func() {
		// A socket belongs to the network namespace of the thread that made it. This thread ends with the goroutine.
		runtime.LockOSThread()
		if err := netns.Set(netns.NsHandle(outsideNetwork)); err != nil {
			done <- result{err: fmt.Errorf("enter the network outside: %w", err)}
			return
		}
		listener, err := new(net.ListenConfig).Listen(ctx, network, address)
		done <- result{listener, err}
	}()
	r := <-done
	return r.listener, r.err
}
