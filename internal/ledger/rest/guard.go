package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// WithCaller is a context of a request of a caller, for what is called with it.
func WithCaller(ctx context.Context, c ledger.Caller, request string) context.Context {
	return context.WithValue(ctx, requestInfoKey{}, requestInfo{caller: c, name: request})
}

// SubjectOf names the caller of a context's request; "": there is none.
func SubjectOf(ctx context.Context) string { return requestInfoOf(ctx).toAttempt().Subject() }

// requestInfo is what handlers know of a request beside its input.
type requestInfo struct {
	caller ledger.Caller
	name   string // "PUT /ledger/v1/..."
	agent  string // the User-Agent
}

type requestInfoKey struct{}

func requestInfoOf(ctx context.Context) requestInfo {
	a, _ := ctx.Value(requestInfoKey{}).(requestInfo)
	return a
}

// ServeHTTP finds out who asks before anything else is read.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == Prefix+"/openapi.json" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(s.openapi)
		return
	}
	caller, err := s.Callers.IdentifyCaller(r)
	if err != nil {
		if ledger.CodeOf(err) == ledger.Unknown && s.Unknown != nil {
			s.Unknown()
		}
		s.writeError(w, r, err)
		return
	}
	if h, pattern := s.mux.Handler(r); pattern == "" {
		s.noRoute(w, r, h)
		return
	}
	a := requestInfo{caller: caller, name: r.Method + " " + r.URL.EscapedPath(), agent: r.UserAgent()}
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestInfoKey{}, a)))
}

// acquireSlot takes a turn for the caller.
func (s *server) acquireSlot(ctx context.Context, t ConcurrencyLimit) (end func(), err error) {
	return s.Limits.AcquireSlot(ctx, SubjectOf(ctx), t)
}

// noRoute tells in the API's form that a path or a method does not exist. Only the mux knows which of them it is.
func (s *server) noRoute(w http.ResponseWriter, r *http.Request, h http.Handler) {
	seen := &statusOnly{header: http.Header{}}
	h.ServeHTTP(seen, r)
	if seen.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", seen.header.Get("Allow"))
		writeProblem(w, &wire.Problem{Status: seen.status, Title: http.StatusText(seen.status), Code: ledger.Invalid,
			Detail: r.Method + " is not a method of this path", Fix: "use one of " + seen.header.Get("Allow")})
		return
	}
	writeProblem(w, wire.ProblemOf(&ledger.Error{Code: ledger.NotFound, Message: "there is no such path",
		Fix: "see " + Prefix + "/openapi.json"}))
}

// statusOnly takes an answer's status and headers.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

// Which operations are for workers of clusters, in an operation's metadata.
const (
	workersMark = "workers"
	workersOnly = "only"
	workersToo  = "too"
)

// confineWorkers lets a cluster's worker ask for its own cluster only, and nobody else do a worker's work. Operations
// that are not marked as a worker's are not for workers.
func (s *server) confineWorkers(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	caller := requestInfoOf(r.Context()).caller
	mark := ctx.Operation().Metadata[workersMark]
	own := ctx.Param("cluster") == "" || ctx.Param("cluster") == caller.Cluster
	switch {
	case caller.Cluster == "" && mark != workersOnly, caller.Cluster != "" && mark != nil && own:
		next(ctx)
	case caller.Cluster == "":
		s.writeError(w, r, s.denyRequest(r.Context(), workPermission, ledger.Key{},
			"only the worker of a cluster may do this",
			"use a token of the cluster"))
	default:
		s.writeError(w, r, s.denyRequest(r.Context(), workPermission, ledger.Key{},
			"the token of cluster "+caller.Cluster+" may only do the work of its own cluster",
			"use a token of a person or program for anything else"))
	}
}

// problemFor is an error as the body of an answer. Causes that are not a user's business are logged, and left out.
func (s *server) problemFor(ctx context.Context, err error) *wire.Problem {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*ledger.Error](err); ok {
		if e.Code == ledger.Unprotected {
			s.Log.Error("a Secret can't be sealed or opened", "request", requestInfoOf(ctx).name, "error", err)
			e = HideKeyFile(e)
		}
		return wire.ProblemOf(e)
	}
	if ctx.Err() != nil {
		return wire.ProblemOf(&ledger.Error{Code: ledger.Unavailable, Message: "the client cancelled the request"})
	}
	s.Log.Error("ledger request failed", "request", requestInfoOf(ctx).name, "error", err)
	return wire.ProblemOf(&ledger.Error{Message: "the server failed; its log says why"})
}

// HideKeyFile is an error about the key of Secrets for callers: only the server's administrators learn where the key
// would be.
func HideKeyFile(e *ledger.Error) *ledger.Error {
	told := &ledger.Error{Code: e.Code, Message: noKey,
		Fix: "have an administrator put the key file back: the log of the server says where it is to be"}
	switch kind, _, _ := strings.Cut(e.Object, " "); kind {
	case "Secret":
		told.Object = e.Object
	case "proposal":
		told.Object = e.Object
		told.Message = "has a Secret that can't be opened: " + noKey
		told.Fix += "; or reject or withdraw the proposal, and propose it anew when there is a key"
	}
	return told
}

// noKey is the message to callers about a Secret that can't be sealed or opened.
const noKey = "the server does not have the key that Secrets are sealed with"

// writeError answers an error.
func (s *server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	writeProblem(w, s.problemFor(r.Context(), err))
}

func writeProblem(w http.ResponseWriter, p *wire.Problem) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p)
}
