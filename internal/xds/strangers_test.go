package xds

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestStrangers: whoever can't be identified is counted each time, and named in the log once an hour.
func TestStrangers(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(0, 0)
	m, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{metrics: m, cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now }}}
	lines := func(want int) {
		t.Helper()
		if got := strings.Count(log.String(), "proxy refused"); got != want {
			t.Errorf("%d lines, want %d:\n%s", got, want, log.String())
		}
	}
	for range 3 {
		if code := status.Code(s.turnAway("a", errors.New("wrong token"))); code != codes.PermissionDenied {
			t.Errorf("code %v", code)
		}
	}
	lines(1)
	if code := status.Code(s.turnAway("a", fmt.Errorf("review: %w", ErrUnknown))); code != codes.Unavailable {
		t.Errorf("code %v", code)
	}
	lines(2)
	now = now.Add(strangerSilence)
	_ = s.turnAway("a", errors.New("wrong token"))
	lines(3)
	for i := range 3 * knownStrangers {
		_ = s.turnAway(fmt.Sprint("b", i, strings.Repeat("long", 1000)), errors.New("wrong token"))
	}
	lines(2 + knownStrangers)
	for what := range s.strangers.said {
		if len(what) > 4*strangerName {
			t.Errorf("%d bytes of a stranger are kept", len(what))
		}
	}
}
