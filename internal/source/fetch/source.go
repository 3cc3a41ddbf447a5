package fetch

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// source is a document that is wanted.
type source struct {
	fetcher     *Fetcher
	key         model.FetchKey
	stop        context.CancelFunc
	wantChanged chan struct{} // of size 1: what is wanted has changed
	asked       chan struct{} // closed after the first answer or failure
	done        chan struct{} // closed at the end

	mu   sync.Mutex
	want model.FetchSpec

	// used by run only
	etag     string
	known    model.FetchState
	failing  string // why it could not be fetched the last time; "": it could
	failures int
	slow     bool // the last request took long
}

func newSource(f *Fetcher, key model.FetchKey, want model.FetchSpec) *source {
	return &source{
		fetcher: f, key: key, want: want, wantChanged: make(chan struct{}, 1), asked: make(chan struct{}),
		done: make(chan struct{}),
	}
}

// setWant tells how the document is fetched from now on.
func (s *source) setWant(want model.FetchSpec) {
	s.mu.Lock()
	s.want = want
	s.mu.Unlock()
	select {
	case s.wantChanged <- struct{}{}:
	default:
	}
}

func (s *source) currentWant() model.FetchSpec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.want
}

// run asks for the document until ctx is done.
func (s *source) run(ctx context.Context) {
	defer close(s.done)
	for first := true; ctx.Err() == nil; first = false {
		s.fetchOnce(ctx)
		if first {
			close(s.asked)
		}
		asked := time.Now()
		for waits := true; waits; {
			timer := time.NewTimer(time.Until(asked.Add(s.nextDelay())))
			select {
			case <-ctx.Done():
				waits = false
			case <-timer.C:
				waits = false
			case <-s.wantChanged: // the wait may be another one; what fails may not fail any more
				waits = s.failures == 0
			}
			timer.Stop()
		}
	}
}

// nextDelay is the time until the document is asked for again.
func (s *source) nextDelay() time.Duration {
	refresh := s.currentWant().Refresh
	if s.failures == 0 {
		return refresh
	}
	wait := min(minRetryDelay<<min(s.failures-1, 10), maxRetryDelay)
	return wait - rand.N(wait/5) // not all controllers at once
}

// fetchOnce asks for the document once, and tells the graph.
func (s *source) fetchOnce(ctx context.Context) {
	want, lane := s.currentWant(), s.fetcher.quick
	if s.slow {
		lane = s.fetcher.slow
	}
	leave, err := lane.enter(ctx, want.Namespaces)
	if err != nil {
		return
	}
	began := time.Now()
	got, err := s.fetcher.request(ctx, s.key, want, s.etag)
	s.slow = time.Since(began) >= slowThreshold
	leave()
	if ctx.Err() != nil {
		return
	}
	was, failed := s.known, s.failing
	outcome := s.recordAnswer(got, err)
	s.fetcher.outcomes.WithLabelValues(outcome).Inc()
	s.logTransition(failed)
	if s.known == was {
		return
	}
	s.fetcher.cfg.Graph.Apply("fetch", func(b *flow.Batch) { s.fetcher.cfg.Fetched.Set(b, s.key, s.known) })
}

// recordAnswer takes an answer, and says what it was.
func (s *source) recordAnswer(got answer, err error) (outcome string) {
	if err != nil {
		s.failures++
		s.failing, s.known.Failure = err.Error(), s.fetcher.cfg.Reach.reportError(err)
		if s.known.Missing = !s.known.Known && s.known.Failure == errMissing.Error(); s.known.Missing {
			s.known.Failure = ""
		}
		return "failed"
	}
	s.failures, s.failing = 0, ""
	if got.notModified {
		s.known.Failure = ""
		return "not-modified"
	}
	s.etag = got.etag
	outcome = "changed"
	if s.known.Known && s.known.Content == got.content {
		outcome = "unchanged"
	}
	s.known = model.FetchState{Known: true, Content: got.content}
	return outcome
}

// logTransition tells of what begins and ends to fail.
func (s *source) logTransition(failed string) {
	log := s.fetcher.cfg.Log.With("url", s.key.URL, "namespaces", s.currentWant().Namespaces)
	switch {
	case s.failing != "" && s.failing != failed:
		log.Warn("a document can't be fetched", "kept", s.known.Known, "error", s.failing)
	case s.failing == "" && failed != "":
		log.Info("a document can be fetched again")
	}
}
