package xds

import (
	"errors"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrUnknown: who a proxy is can't be told now, and may be later.
var ErrUnknown = errors.New("the proxy's identity can't be checked now")

// A stranger comes again every few seconds, and what there is to say of it is the same: it is said once an hour. What it calls itself is its
// own choice: so no more than a name's length of it is kept, and no more than so many strangers are named in an hour.
const (
	strangerSilence = time.Hour
	knownStrangers  = 100
	strangerName    = 253 // bytes
)

type strangers struct {
	mu    sync.Mutex
	since time.Time // when the hour began
	said  map[string]struct{}
}

// news tells whether something is to be said: not yet in this hour, and not too much was.
func (s *strangers) news(what string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil || now.Sub(s.since) >= strangerSilence {
		s.said, s.since = map[string]struct{}{}, now
	}
	if _, said := s.said[what]; said || len(s.said) >= knownStrangers {
		return false
	}
	s.said[what] = struct{}{}
	return true
}

// turnAway counts and logs a proxy that was not identified. It is the stream's end.
func (s *Server) turnAway(node string, err error) error {
	s.metrics.strangers.Inc()
	node = strings.ToValidUTF8(node[:min(len(node), strangerName)], "")
	why := err.Error()
	why = strings.ToValidUTF8(why[:min(len(why), 2*strangerName)], "")
	if s.strangers.news(node+"\x00"+why, s.cfg.Now()) {
		s.cfg.Log.Warn("proxy refused", "node", node, "err", why)
	}
	if errors.Is(err, ErrUnknown) {
		return status.Error(codes.Unavailable, err.Error())
	}
	return status.Error(codes.PermissionDenied, err.Error())
}
