package sandbox

import (
	"context"
	"fmt"
	"net"

	"github.com/vishvananda/netns"
)

// Listen listens in the network outside, so that programs there can reach the one inside. It is called inside.
func Listen(ctx context.Context, network, address string) (net.Listener, error) {
	var listener net.Listener
	// A socket belongs to the network namespace of the thread that made it.
	err := OnThread(func() (err error) {
		if err := netns.Set(netns.NsHandle(outsideNetwork)); err != nil {
			return fmt.Errorf("enter the network outside: %w", err)
		}
		listener, err = new(net.ListenConfig).Listen(ctx, network, address)
		return err
	})
	return listener, err
}
