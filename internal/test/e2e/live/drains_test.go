package live

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// drainedNothing holds that the one Envoy with its socket in a work folder has changed no listener since it started; to
// come and to go is no change. A listener that changes gives its connections a minute (envoy.Flags), so they outlive a
// test and only Envoy's counters tell.
func drainedNothing(t *testing.T, work string) {
	t.Helper()
	const prefix = "listener_manager.listener_"
	counters := envoyCounters(t, work, "^"+prefix)
	got := fmt.Sprintf("modified: %s, in place: %s", counters[prefix+"modified"], counters[prefix+"in_place_updated"])
	if want := "modified: 0, in place: 0"; got != want {
		t.Errorf("listeners %s, want %s: %v", got, want, counters)
	}
}

// adminOf is a client of the admin interface of the one Envoy with its socket in a work folder.
func adminOf(t *testing.T, work string) *http.Client {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(work, "*", "admin"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("admin sockets in %s: %v, %v", work, sockets, err)
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", sockets[0])
		},
	}}
}

// envoyCounters are the counters of the one Envoy with its socket in a work folder, by name: those that a filter takes.
func envoyCounters(t *testing.T, work, filter string) map[string]string {
	t.Helper()
	response, err := adminOf(t, work).Get("http://envoy/stats?filter=" + url.QueryEscape(filter))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	counters := map[string]string{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		counters[name] = value
	}
	if lines.Err() != nil {
		t.Error(lines.Err())
	}
	return counters
}
