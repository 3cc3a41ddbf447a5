package simulate

import (
	"slices"
	"strconv"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/request"
)

// defaultTimeout is Envoy's own, where a route states none.
const defaultTimeout = 15 * time.Second

// readLimits reads the limits of a route.
func (s *simulation) readLimits(a *routev3.RouteAction) (l request.Limits) {
	l.Total = defaultTimeout
	if a.GetTimeout() != nil {
		l.Total = a.GetTimeout().AsDuration()
	}
	p := a.GetRetryPolicy()
	if p == nil {
		return l
	}
	s.noteUnknownFields(p, "retry_on", "num_retries", "per_try_timeout", "retriable_status_codes", "retry_back_off",
		"retry_host_predicate",
		"host_selection_retry_max_attempts")
	l.Attempt = p.GetPerTryTimeout().AsDuration()
	if p.GetRetryOn() == "" {
		return l
	}
	if l.Retries = 1; p.GetNumRetries() != nil {
		l.Retries = p.GetNumRetries().GetValue()
	}
	if l.Retries == 0 {
		return l
	}
	l.On = strings.Split(p.GetRetryOn(), ",")
	if i := slices.Index(l.On, "retriable-status-codes"); i >= 0 {
		l.On = slices.Delete(l.On, i, i+1)
		for _, code := range p.GetRetriableStatusCodes() {
			l.On = append(l.On, strconv.Itoa(int(code)))
		}
	}
	return l
}
