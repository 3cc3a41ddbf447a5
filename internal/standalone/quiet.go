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
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", adminSocket)
		},
	}}
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

// isBusy asks a proxy's admin interface whether it still serves.
func isBusy(ctx context.Context, client *http.Client, how dialect.Child) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://proxy"+how.BusyPath, nil)
	if err != nil {
		return false, err
	}
	response, err := client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("admin interface: %s", response.Status)
	}
	answer, err := io.ReadAll(response.Body)
	return how.IsBusy(answer), err
}
