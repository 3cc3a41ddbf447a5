package kube

import (
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cardea.dev/cardea/internal/core/model"
)

// outage says once that the API server does not answer, for all kinds, and once that it does again; and once of a kind
// that it may not be read.
type outage struct {
	log       *slog.Logger
	now       func() time.Time
	mu        sync.Mutex
	failing   map[model.Kind]struct{}
	forbidden map[model.Kind]struct{}
	since     time.Time
	announced bool // that it began
	ended     time.Time
}

func newOutage(log *slog.Logger, now func() time.Time) *outage {
	return &outage{log: log, now: now, failing: map[model.Kind]struct{}{}, forbidden: map[model.Kind]struct{}{}}
}

// noteFailure is called when a request of a kind was not answered.
func (o *outage) noteFailure(kind model.Kind, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.failing) == 0 {
		o.since, o.announced = o.now(), false
	}
	o.failing[kind] = struct{}{}
	// An API server that has just started serves some kinds before others: so ends an outage, and no other one begins.
	notReady := apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) // paths, storage
	starts := notReady && !o.ended.IsZero() && o.now().Sub(o.ended) < refusalTimeout
	if !o.announced && !starts {
		o.announced = true
		o.log.Warn("API server can't be read; the objects last read stay in use", "kind", kind.String(), "error", err)
	}
}

// noteAnswer is called when a request of a kind was answered, if only by a refusal; nil: as it should be.
func (o *outage) noteAnswer(kind model.Kind, refusal error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, failed := o.failing[kind]; failed {
		if delete(o.failing, kind); len(o.failing) == 0 {
			if o.ended = o.now(); o.announced {
				o.log.Info("API server is read again", "after", o.ended.Sub(o.since))
			}
		}
	}
	if refusal == nil {
		delete(o.forbidden, kind)
		return
	}
	// An API server that has just started may not know yet who may do what.
	settled := len(o.failing) == 0 && (o.ended.IsZero() || o.now().Sub(o.ended) >= refusalTimeout)
	if _, said := o.forbidden[kind]; !said && settled && apierrors.IsForbidden(refusal) {
		o.forbidden[kind] = struct{}{}
		o.log.Warn("kind can't be read; see the permissions of Cardea's ServiceAccount", "kind", kind.String(), "error",
			refusal)
	}
}
