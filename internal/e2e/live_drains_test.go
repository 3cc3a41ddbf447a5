package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// drainedNothing holds that the one Envoy with its socket in a work folder has changed no listener since it started; to
// come and to go is no change. A listener that changes gives its connections a minute (envoy.Flags), so they outlive a
// test and only Envoy's counters tell.
func drainedNothing(t *testing.T, work string) {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(work, "*", "admin"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("admin sockets in %s: %v, %v", work, sockets, err)
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", sockets[0])
		},
	}}
	response, err := client.Get("http://envoy/stats?filter=^listener_manager.listener_")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	counters := map[string]string{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		counters[strings.TrimPrefix(name, "listener_manager.listener_")] = value
	}
	got := fmt.Sprintf("modified: %s, in place: %s", counters["modified"], counters["in_place_updated"])
	if want := "modified: 0, in place: 0"; got != want || lines.Err() != nil {
		t.Errorf("listeners %s, want %s: %v (%v)", got, want, counters, lines.Err())
	}
}
