package kubeclient

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// freshFor is for how long a version that was read says that the store has come so far. A store is not restored in
	// less.
	freshFor = 2 * time.Second
	// reportInterval is after how long another restoration is reported: the watches of one end over as long.
	reportInterval = 2 * time.Minute
	// listTimeout is how long an API server may take for a list of one object.
	listTimeout = 30 * time.Second
)

// Guard ends the watches of one API server when its store is older than what they have seen.
type Guard struct {
	onRestored func(Restoration)
	asking     singleflight.Group // by resource

	mu     sync.Mutex
	newest map[string]revision // by resource
	last   time.Time           // when a restoration was reported last
}

// Restoration is what a Guard noticed: the newest resource version that was seen, and that of the store now.
type Restoration struct{ Seen, Now uint64 }

// revision is a version of a store and when it was asked for.
type revision struct {
	number uint64
	asked  time.Time
}

// NewGuard makes a Guard. The function is called once for each time that the store was restored. It must not block.
func NewGuard(told func(Restoration)) *Guard {
	return &Guard{onRestored: told, newest: map[string]revision{}}
}

// LogRestoration makes a function for NewGuard that logs, and then calls count.
func LogRestoration(log *slog.Logger, count func()) func(Restoration) {
	return func(r Restoration) {
		log.Warn("the API server's store was restored to an older state; everything is read again",
			"seen", r.Seen, "now", r.Now)
		count()
	}
}

// Wrap is for rest.Config.Wrap of all clients that watch.
func (g *Guard) Wrap(next http.RoundTripper) http.RoundTripper { return transport{next, g} }

// transport is the Guard of one client.
type transport struct {
	http.RoundTripper
	*Guard
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	from, watches := startOf(request)
	if !watches {
		return t.RoundTripper.RoundTrip(request)
	}
	if refusal, err := t.checkWatch(request, from); refusal != nil || err != nil {
		return refusal, err
	}
	return t.RoundTripper.RoundTrip(request)
}

// WrappedRoundTripper is for those who look for what is below.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// checkWatch answers a watch that can't begin; nil, nil: it may.
func (t transport) checkWatch(request *http.Request, from uint64) (*http.Response, error) {
	resource, arrived := resourceOf(request.URL.Path), time.Now()
	for !t.hasReached(resource, from) {
		got, own, err := t.shareAnswer(request, resource)
		switch {
		case err != nil:
			return nil, err
		case got.isUnavailable():
			return got.toResponse(request), got.err
		case !got.known && own:
			return nil, nil
		case !got.known: // whoever asked may not list, or not there
		case from <= got.number:
			t.noteAnswer(resource, got.number, got)
		case got.asked.Before(arrived): // the store may have come there since
		default:
			t.noteAnswer(resource, from, got)
			return newExpiredResponse(request, from, got.number), nil
		}
	}
	return nil, nil
}

// shareAnswer gives the answer to a request, or to another one that asks for the resource at the same time; own says
// which. It is not waited for longer than the request is.
func (t transport) shareAnswer(request *http.Request, resource string) (got answer, own bool, err error) {
	question := request.Clone(context.WithoutCancel(request.Context())) // others who wait don't go with this request
	asks := false
	shared := t.asking.DoChan(resource, func() (any, error) {
		asks = true
		return t.askNewest(question), nil
	})
	select {
	case result := <-shared:
		return result.Val.(answer), asks, nil
	case <-request.Context().Done():
		return answer{}, false, request.Context().Err()
	}
}

// hasReached says whether the store was seen to have come to a version, a moment ago.
func (g *Guard) hasReached(resource string, from uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	is := g.newest[resource]
	return from <= is.number && time.Since(is.asked) < freshFor
}

// noteAnswer takes an answer. The store was restored if its version is older than one that was seen before it was asked
// for.
func (g *Guard) noteAnswer(resource string, seen uint64, got answer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before := g.newest[resource]; before.asked.Before(got.asked) {
		seen = max(seen, before.number)
		g.newest[resource] = got.revision
	}
	if got.number < seen && time.Since(g.last) > reportInterval {
		g.last = time.Now()
		g.onRestored(Restoration{Seen: seen, Now: got.number})
	}
}
