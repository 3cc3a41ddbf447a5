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
	f     *Fetcher
	key   model.FetchKey
	stop  context.CancelFunc
	nudge chan struct{} // of size 1: what is wanted has changed
	asked chan struct{} // closed after the first answer or failure
	done  chan struct{} // closed at the end

	mu   sync.Mutex
	want model.Fetch

	// used by run only
	etag     string
	known    model.Fetched
	failing  string // why it could not be fetched the last time; "": it could
	failures int
	slow     bool // the last request took long
}

func newSource(f *Fetcher, key model.FetchKey, want model.Fetch) *source {
	return &source{
		f: f, key: key, want: want, nudge: make(chan struct{}, 1), asked: make(chan struct{}), done: make(chan struct{}),
	}
}

// change tells how the document is fetched from now on.
func (s *source) change(want model.Fetch) {
	s.mu.Lock()
	s.want = want
	s.mu.Unlock()
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

func (s *source) wanted() model.Fetch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.want
}

// run asks for the document until ctx is done.
func (s *source) run(ctx context.Context) {
	defer close(s.done)
	for first := true; ctx.Err() == nil; first = false {
		s.ask(ctx)
		if first {
			close(s.asked)
		}
		asked := time.Now()
		for waits := true; waits; {
			timer := time.NewTimer(time.Until(asked.Add(s.pause())))
			select {
			case <-ctx.Done():
				waits = false
			case <-timer.C:
				waits = false
			case <-s.nudge: // the wait may be another one; what fails may not fail any more
				waits = s.failures == 0
			}
			timer.Stop()
		}
	}
}

// pause is the time until the document is asked for again.
func (s *source) pause() time.Duration {
	refresh := s.wanted().Refresh
	if s.failures == 0 {
		return refresh
	}
	wait := min(firstRetry<<min(s.failures-1, 10), lastRetry)
	return wait - rand.N(wait/5) // not all controllers at once
}

// ask asks for the document once, and tells the graph.
func (s *source) ask(ctx context.Context) {
	want, lane := s.wanted(), s.f.quick
	if s.slow {
		lane = s.f.slow
	}
	leave, err := lane.enter(ctx, want.Namespaces)
	if err != nil {
		return
	}
	began := time.Now()
	got, err := s.f.ask(ctx, s.key, want, s.etag)
	s.slow = time.Since(began) >= slowAfter
	leave()
	if ctx.Err() != nil {
		return
	}
	was, failed := s.known, s.failing
	outcome := s.learn(got, err)
	s.f.outcomes.WithLabelValues(outcome).Inc()
	s.log(failed)
	if s.known == was {
		return
	}
	s.f.cfg.Graph.Apply("fetch", func(b *flow.Batch) { s.f.cfg.Fetched.Set(b, s.key, s.known) })
}

// learn takes an answer, and says what it was.
func (s *source) learn(got answer, err error) (outcome string) {
	if err != nil {
		s.failures++
		s.failing, s.known.Failing = err.Error(), s.f.cfg.Reach.tell(err)
		if s.known.Missing = !s.known.Known && s.known.Failing == errMissing.Error(); s.known.Missing {
			s.known.Failing = ""
		}
		return "failed"
	}
	s.failures, s.failing = 0, ""
	if got.notModified {
		s.known.Failing = ""
		return "not-modified"
	}
	s.etag = got.etag
	outcome = "changed"
	if s.known.Known && s.known.Content == got.content {
		outcome = "unchanged"
	}
	s.known = model.Fetched{Known: true, Content: got.content}
	return outcome
}

// log tells of what begins and ends to fail.
func (s *source) log(failed string) {
	log := s.f.cfg.Log.With("url", s.key.URL, "namespaces", s.wanted().Namespaces)
	switch {
	case s.failing != "" && s.failing != failed:
		log.Warn("a document can't be fetched", "kept", s.known.Known, "error", s.failing)
	case s.failing == "" && failed != "":
		log.Info("a document can be fetched again")
	}
}
