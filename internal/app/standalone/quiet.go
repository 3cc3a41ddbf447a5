package standalone

import (
	"context"
	"net"
	"net/http"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/deliver/process"
)

const (
	quietTimeout  = 5 * time.Second       // for a proxy's last requests
	quietInterval = 20 * time.Millisecond // between checks
)

// waitQuiet waits until the proxy of a Gateway that is gone has given up its listeners, as its server tells it to, and
// has answered every request: the connections that clients still hold are idle. It also returns if the proxy does not
// answer (nothing can be in flight then), if that takes too long, or if ctx is done.
func waitQuiet(ctx context.Context, how dataplane.ChildProcess, adminSocket string) {
	ctx, cancel := context.WithTimeout(ctx, quietTimeout)
	defer cancel()
	client := adminClient(adminSocket)
	for {
		if busy, err := isBusy(ctx, client, how); err != nil || !busy {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(quietInterval):
		}
	}
}

// isReady waits until a proxy's first configuration is whole; false if ctx is done before.
func isReady(ctx context.Context, how dataplane.ChildProcess, adminSocket string) bool {
	client := adminClient(adminSocket)
	for {
		if _, err := process.FetchPage(ctx, client, adminURL+how.ReadyPath); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(quietInterval):
		}
	}
}

// adminURL is the admin interface of the proxy that adminClient reaches.
const adminURL = "http://proxy"

// adminClient reaches one proxy's admin interface, whatever the host of a URL is.
func adminClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
}

// isBusy asks a proxy's admin interface whether it still serves.
func isBusy(ctx context.Context, client *http.Client, how dataplane.ChildProcess) (bool, error) {
	answer, err := process.FetchPage(ctx, client, adminURL+how.BusyPath)
	return how.IsBusy(answer), err
}
