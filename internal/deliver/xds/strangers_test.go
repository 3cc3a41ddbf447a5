package xds

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestStrangers: whoever can't be identified is counted each time, and named in the log once an hour.
func TestStrangers(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	now := time.Unix(0, 0)
	s := &Server{metrics: newMetrics(nil, registry), cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Now: func() time.Time { return now }}}
	lines := func(want int) {
		t.Helper()
		if got := strings.Count(log.String(), "proxy rejected"); got != want {
			t.Errorf("%d lines, want %d:\n%s", got, want, log.String())
		}
	}
	for range 3 {
		if code := status.Code(s.rejectProxy(t.Context(), "a", errors.New("wrong token"))); code != codes.PermissionDenied {
			t.Errorf("code %v", code)
		}
	}
	lines(1)
	for _, node := range []string{"a", "b"} { // the API server is away, which is not theirs to answer for
		if code := status.Code(s.rejectProxy(t.Context(), node, fmt.Errorf("review: %w",
			ErrUnknown))); code != codes.Unavailable {
			t.Errorf("code %v", code)
		}
	}
	lines(1)
	counted := gathered(t, registry)
	n := strings.Count(log.String(), "can't be identified")
	if n != 1 || counted["cardea_xds_unchecked_total"] != 2 || counted["cardea_xds_strangers_total"] != 3 {
		t.Errorf("said %d times; %v", n, counted)
	}
	now = now.Add(logInterval)
	_ = s.rejectProxy(t.Context(), "a", errors.New("wrong token"))
	lines(2)
	for i := range 3 * maxLoggedStrangers {
		_ = s.rejectProxy(t.Context(), fmt.Sprint("b", i, strings.Repeat("long", 1000)), errors.New("wrong token"))
	}
	lines(1 + maxLoggedStrangers)
	for what := range s.rejectedLog.said {
		if len(what) > 4*maxLoggedName {
			t.Errorf("%d bytes of a stranger are kept", len(what))
		}
	}
}
