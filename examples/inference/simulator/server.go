package simulator

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"cardea.dev/cardea/internal/epp/prefix"
)

// bytesPerToken is what a token is taken to have.
const bytesPerToken = 4

// Server is a simulated model server.
type Server struct {
	// Set by New.
	set    Settings
	cache  *prefix.Index
	hasher prefix.Hasher
	slots  chan struct{} // a place for each request that is worked on

	load load
}

// New makes a Server.
func New(s Settings) *Server {
	return &Server{
		set: s, cache: prefix.NewIndex(s.CacheBlocks),
		hasher: prefix.Hasher{BlockSize: s.BlockTokens * bytesPerToken},
		slots:  make(chan struct{}, s.Concurrency),
		load:   load{set: s, inUse: map[string]int{}, wanted: map[string]int{}, changed: make(chan struct{})},
	}
}

// Handler serves the API, /metrics and /health.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.serve(chat))
	mux.HandleFunc("POST /v1/completions", s.serve(completion))
	mux.HandleFunc("POST /v1/embeddings", s.serve(embedding))
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-model-server", s.set.Name)
		mux.ServeHTTP(w, r)
	})
}

// serve reads a request and answers it.
func (s *Server) serve(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			refuse(w, http.StatusBadRequest, "the body is no JSON object: "+err.Error())
			return
		}
		if q.Model != s.set.Model && !slices.Contains(s.set.Adapters, q.Model) {
			refuse(w, http.StatusNotFound, "the model "+q.Model+" does not exist")
			return
		}
		a := newAnswer(w, k, q, s.set)
		s.generate(r.Context(), q.Model, q.text(k), a)
	}
}

// generate waits for a place, loads the adapter, reads the part of the prompt that is not cached, and writes tokens. It
// ends early if the client goes.
func (s *Server) generate(ctx context.Context, model string, text []byte, a *answer) {
	s.load.wait(1)
	select {
	case s.slots <- struct{}{}:
		s.load.wait(-1)
	case <-ctx.Done():
		s.load.wait(-1)
		return
	}
	defer func() { <-s.slots }()
	blocks := s.hasher.HashBlocks(model, text)
	s.load.work(1, len(blocks))
	defer func() { s.load.work(-1, -len(blocks)) }()
	if slices.Contains(s.set.Adapters, model) {
		if !s.load.adapter(ctx, model) {
			return
		}
		defer s.load.release(model)
	}
	tokens := (len(text) + bytesPerToken - 1) / bytesPerToken
	cached := s.cache.MatchServers(blocks, []string{""})[0] * s.set.BlockTokens
	if !sleep(ctx, s.set.Start+time.Duration(tokens-cached)*s.set.Prefill) {
		return
	}
	s.cache.AddPrompt("", blocks)
	s.load.count(tokens, cached)
	a.begin(tokens, cached)
	for range a.wanted {
		if !sleep(ctx, s.set.Decode) {
			return
		}
		a.token()
	}
	a.end()
}

// sleep waits; it is false if the client went.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
