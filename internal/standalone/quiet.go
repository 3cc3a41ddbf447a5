package standalone

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	quietPatience = 5 * time.Second       // for a proxy's last requests
	quietInterval = 20 * time.Millisecond // between checks
)

// quiet waits until the proxy of a deleted Gateway has closed its listeners, which its server tells it to, and has
// answered every request: the remaining connections are idle. It also returns if the proxy does not answer (then no
// request is in flight), after quietPatience, or when ctx is done.
func quiet(ctx context.Context, adminSocket string) {
	ctx, cancel := context.WithTimeout(ctx, quietPatience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", adminSocket)
		},
	}}
	for {
		if busy, err := isBusy(ctx, client); err != nil || !busy {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(quietInterval):
		}
	}
}

// isBusy asks an Envoy for the gauges of its listeners, and of its requests except those of this admin interface.
func isBusy(ctx context.Context, client *http.Client) (bool, error) {
	const gauges = `^(listener_manager\.total_listeners_(active|warming)|http\..*\.downstream_rq_active)$`
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://envoy/stats?filter="+url.QueryEscape(gauges),
		nil)
	if err != nil {
		return false, err
	}
	response, err := client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("stats: %s", response.Status)
	}
	busy := false
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if value != "0" && !strings.HasPrefix(name, "http.admin.") {
			busy = true
		}
	}
	return busy, lines.Err()
}
