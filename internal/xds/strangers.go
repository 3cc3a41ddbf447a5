package xds

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrUnknown: who a proxy is can't be told now, and may be later.
var ErrUnknown = errors.New("the proxy's identity can't be checked now")

// A stranger comes again every few seconds, and what there is to say of it is the same: it is said once an hour.
const (
	strangerSilence = time.Hour
	knownStrangers  = 1000
)

type strangers struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// news tells whether something has not been said for long.
func (s *strangers) news(what string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, said := s.said[what]; said && now.Sub(at) < strangerSilence {
		return false
	}
	if s.said == nil || len(s.said) >= knownStrangers {
		s.said = map[string]time.Time{}
	}
	s.said[what] = now
	return true
}

// turnAway counts and logs a proxy that was not identified. It is the stream's end.
func (s *Server) turnAway(node string, err error) error {
	s.metrics.strangers.Inc()
	if s.strangers.news(node+"\x00"+err.Error(), s.cfg.Now()) {
		s.cfg.Log.Warn("proxy refused", "node", node, "err", err)
	}
	if errors.Is(err, ErrUnknown) {
		return status.Error(codes.Unavailable, err.Error())
	}
	return status.Error(codes.PermissionDenied, err.Error())
}
