package standalone

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"cardea.dev/cardea/internal/dialect"
)

const (
	quietPatience = 5 * time.Second       // for a proxy's last requests
	quietInterval = 20 * time.Millisecond // between checks
)

// quiet waits until a proxy whose Gateway is gone has given up its listeners, which its server tells it to, and has
// answered every request: what else its clients hold are idle connections. It also returns if the proxy does not answer
// (nothing can be in flight then), if that takes too long, or if ctx is done.
func quiet(ctx context.Context, how dialect.Child, adminSocket string) {
	ctx, cancel := context.WithTimeout(ctx, quietPatience)
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
func isReady(ctx context.Context, how dialect.Child, adminSocket string) bool {
	client := adminClient(adminSocket)
	for {
		if _, err := ask(ctx, client, how.ReadyPath); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(quietInterval):
		}
	}
}

func adminClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
}

// isBusy asks a proxy's admin interface whether it still serves.
func isBusy(ctx context.Context, client *http.Client, how dialect.Child) (bool, error) {
	answer, err := ask(ctx, client, how.BusyPath)
	return how.IsBusy(answer), err
}

// ask asks a proxy's admin interface for a page.
func ask(ctx context.Context, client *http.Client, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://proxy"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("admin interface: %s", response.Status)
	}
	return io.ReadAll(response.Body)
}
