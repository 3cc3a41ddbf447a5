package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"cardea.dev/cardea/internal/epp/score"
)

// Config says how servers are asked. Defaults has values for all but Log.
type Config struct {
	Interval time.Duration // between two questions to a server
	Timeout  time.Duration // for an answer
	Stale    time.Duration // an older answer does not count
	Failures int           // after as many in a row, a server is gone
	// Port is where metrics are served; 0: at the endpoint itself.
	Port   int
	Path   string
	Scheme string // http, or https, for which certificates are not verified: pods have none for their addresses
	Names  Names
	// TokenFile has the token that servers get as `Authorization: Bearer`; "": none. It is read at the start, when a
	// server does not take the token, and by NoToken.
	TokenFile string
	// TokenLater: the file may come later, and until then there is no token. Else it has to be there at the start.
	TokenLater bool
	Log        *slog.Logger // nil discards
}

// maxWorkers bounds how many servers are asked at a time. If all of them wait for hanging servers, others are asked
// late, for Timeout at most; those that hang are asked more rarely.
const maxWorkers = 64

// goneInterval is how often a server is asked that is gone.
const goneInterval = time.Second

// DefaultConfig asks ten times a second.
func DefaultConfig() Config {
	return Config{
		Interval: 100 * time.Millisecond, Timeout: 500 * time.Millisecond, Stale: 2 * time.Second, Failures: 5,
		Path: "/metrics", Scheme: "http", Names: DefaultNames(),
	}
}

// Scraper knows how busy servers are.
type Scraper struct {
	// Set by New.
	cfg        Config
	reader     *pageReader
	token      bearerToken
	fetchState func(ctx context.Context, endpoint string) (score.State, error)

	mu      sync.RWMutex
	servers map[string]*server
}

// server is what is known of one. The fields are guarded by Scraper.mu.
type server struct {
	state         score.State // of the last answer
	answeredAt    time.Time   // when it came; zero: never
	failures      int         // in a row, since one was answered
	inProgress    bool        // and not answered yet
	nextScrape    time.Time   // when it is asked again
	silenceLogged bool        // it was logged that it tells nothing
	failure       string      // it did not answer, when it went
}

// New makes a Scraper; Run does the work.
func New(cfg Config) (*Scraper, error) {
	switch {
	case cfg.Interval < time.Millisecond, cfg.Timeout <= 0, cfg.Stale < cfg.Interval, cfg.Failures < 1:
		return nil, errors.New("servers: times and the number of failures must be positive, and an answer must count " +
			"until the next question")
	case cfg.Scheme != "http" && cfg.Scheme != "https":
		return nil, errors.New("servers: the scheme must be http or https")
	case cfg.Port < 0 || cfg.Port > 65535:
		return nil, errors.New("servers: the port must be from 1 to 65535, or 0 for the endpoint's own")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Scraper{cfg: cfg, reader: newPageReader(cfg.Names), token: bearerToken{file: cfg.TokenFile},
		servers: map[string]*server{}}
	if err := s.token.readFile(); err != nil && !cfg.TokenLater {
		return nil, fmt.Errorf("servers: %w", err)
	}
	s.fetchState = s.newFetcher(newClient(cfg))
	return s, nil
}

// SetEndpoints replaces the list of servers. The state of servers that stay is kept.
func (s *Scraper) SetEndpoints(endpoints []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make(map[string]*server, len(endpoints))
	for _, e := range endpoints {
		if next[e] = s.servers[e]; next[e] == nil {
			next[e] = &server{}
		}
	}
	s.servers = next
}

// StateOf is what is known of a server now.
func (s *Scraper) StateOf(endpoint string) score.State {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k := s.servers[endpoint]
	switch {
	case k == nil:
		return score.State{}
	case k.failures >= s.cfg.Failures:
		return score.State{Gone: true}
	case k.answeredAt.IsZero() || time.Since(k.answeredAt) > s.cfg.Stale:
		return score.State{}
	}
	return k.state
}

// FailedEndpoints are the servers that don't answer, each with what went wrong when it stopped to.
func (s *Scraper) FailedEndpoints() map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	gone := map[string]string{}
	for endpoint, k := range s.servers {
		if k.failures >= s.cfg.Failures {
			gone[endpoint] = k.failure
		}
	}
	return gone
}

// DescribeTokenError reads TokenFile again, and says why it has no token, and with what servers are asked; "": it has
// one, or none is wanted.
func (s *Scraper) DescribeTokenError() string {
	err := s.token.readFile()
	switch {
	case err == nil:
		return ""
	case s.token.get() == "":
		return err.Error() + "; model servers are asked without a token"
	}
	return err.Error() + "; model servers are asked with the token from before"
}

// Run asks servers until ctx ends.
func (s *Scraper) Run(ctx context.Context) error {
	due := make(chan string)
	var group sync.WaitGroup
	defer group.Wait()
	defer close(due)
	for range maxWorkers {
		group.Go(func() {
			for endpoint := range due {
				s.scrapeServer(ctx, endpoint)
			}
		})
	}
	tick := time.NewTicker(max(time.Millisecond, s.cfg.Interval/4))
	defer tick.Stop()
	for {
		for _, endpoint := range s.takeDue() {
			select {
			case due <- endpoint:
			case <-ctx.Done():
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// takeDue are the servers to ask now; each is asked once at a time.
func (s *Scraper) takeDue() (endpoints []string) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for e, k := range s.servers {
		if !k.inProgress && !now.Before(k.nextScrape) {
			k.inProgress = true
			endpoints = append(endpoints, e)
		}
	}
	return endpoints
}

// scrapeServer asks one server.
func (s *Scraper) scrapeServer(ctx context.Context, endpoint string) {
	began := time.Now()
	asked, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	state, err := s.fetchState(asked, endpoint)
	cancel()
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.servers[endpoint]
	if k == nil {
		return // it is no member any more
	}
	k.inProgress = false
	k.nextScrape = began.Add(s.cfg.Interval)
	silent := errors.As(err, new(noMetricsError))
	if err == nil || silent { // a server that answers serves
		if k.failures >= s.cfg.Failures {
			s.cfg.Log.Info("model server answers again", "endpoint", endpoint)
		}
		k.failures = 0
	}
	switch {
	case err == nil:
		k.state, k.answeredAt = state, time.Now()
		return
	case silent && !k.silenceLogged:
		k.silenceLogged = true
		s.cfg.Log.Warn("model server does not report its load", "endpoint", endpoint, "error", err)
		return
	case silent:
		return
	}
	k.failures++
	switch {
	case k.failures == s.cfg.Failures:
		k.failure = s.cfg.shortenError(err)
		s.cfg.Log.Warn("model server does not answer", "endpoint", endpoint, "error", err)
		fallthrough
	case k.failures > s.cfg.Failures:
		k.nextScrape = began.Add(max(s.cfg.Interval, goneInterval))
	}
}

// shortenError is an error of a question without what all of them have in common, and without numbers that differ each
// time.
func (c Config) shortenError(err error) string {
	var failed *url.Error
	var broken *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer in %s", c.Timeout)
	case errors.As(err, &broken):
		return broken.Op + ": " + broken.Err.Error()
	case errors.As(err, &failed):
		return failed.Err.Error()
	}
	return err.Error()
}

// metricsAddress is the address of a server's metrics.
func (c Config) metricsAddress(endpoint string) string {
	if c.Port == 0 {
		return endpoint
	}
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return endpoint
	}
	return net.JoinHostPort(host, strconv.Itoa(c.Port))
}
