package kube

import (
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cardea.dev/cardea/internal/model"
)

// outage says once that the API server does not answer, for all kinds, and once that it does again.
type outage struct {
	log     *slog.Logger
	now     func() time.Time
	mu      sync.Mutex
	failing map[model.Kind]struct{}
	since   time.Time
}

// begin is called when the requests of a kind begin to fail.
func (o *outage) begin(kind model.Kind, err error) {
	if apierrors.IsForbidden(err) {
		o.log.Warn("kind can't be read; see the permissions of Cardea's ServiceAccount", "kind", kind.String(), "err", err)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.failing) == 0 {
		o.since = o.now()
		o.log.Warn("API server can't be read; going on with what is known", "kind", kind.String(), "err", err)
	}
	o.failing[kind] = struct{}{}
}

// end is called when a request of a kind was answered.
func (o *outage) end(kind model.Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, failed := o.failing[kind]; !failed {
		return
	}
	if delete(o.failing, kind); len(o.failing) == 0 {
		o.log.Info("API server is read again", "after", o.now().Sub(o.since))
	}
}
