package xds

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// ErrUnknown: who a proxy is can't be told now, and may be later.
var ErrUnknown = errors.New("the proxy's identity can't be checked now")

// A stranger comes again every few seconds, and the message about it is the same each time: it is logged once an hour.
// A stranger chooses its own name: so no more than a name's length of it is kept, and no more than so many strangers
// are named in an hour.
const (
	logInterval        = time.Hour
	maxLoggedStrangers = 100
	maxLoggedName      = 253 // bytes
)

type logLimiter struct {
	mu    sync.Mutex
	since time.Time // when the hour began
	said  map[string]struct{}
}

// isNew tells whether something is to be said: not yet in this hour, and not too much was.
func (s *logLimiter) isNew(what string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil || now.Sub(s.since) >= logInterval {
		s.said, s.since = map[string]struct{}{}, now
	}
	if _, said := s.said[what]; said || len(s.said) >= maxLoggedStrangers {
		return false
	}
	s.said[what] = struct{}{}
	return true
}

// rejectProxy counts and logs a proxy that was not identified, and ends the stream. The node is "" if the proxy had not
// spoken.
func (s *Server) rejectProxy(ctx context.Context, node string, err error) error {
	if errors.Is(err, ErrUnknown) {
		s.metrics.unchecked.Inc()
		if s.unavailableLog.isNew("", s.cfg.Now()) {
			s.cfg.Log.Warn("proxies can't be identified now; they retry", "error", err)
		}
		return status.Error(codes.Unavailable, err.Error())
	}
	s.metrics.unidentified.Inc()
	shorten := func(s string, to int) string { return strings.ToValidUTF8(s[:min(len(s), to)], "") }
	node, why, from := shorten(node, maxLoggedName), shorten(err.Error(), 2*maxLoggedName), ""
	if p, known := peer.FromContext(ctx); known {
		from, _, _ = net.SplitHostPort(p.Addr.String()) // "" if it has none
	}
	if s.rejectedLog.isNew(from+"\x00"+node+"\x00"+why, s.cfg.Now()) {
		s.cfg.Log.Warn("proxy rejected", "from", from, "node", node, "error", why)
	}
	return status.Error(codes.PermissionDenied, err.Error())
}
