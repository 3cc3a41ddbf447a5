package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Config has the parts of the routes, as in package rest.
type Config struct {
	Ledger  ledger.Ledger
	Callers rest.Callers
	Admit   rest.Admitter // nil: every object is admitted
	Limits  *rest.Limits  // nil: its own
	Log     *slog.Logger
	Unknown func() // called for each request from an unknown caller; nil: nobody counts them
}

type server struct{ Config }

// New makes the routes.
func New(c Config) http.Handler {
	s := &server{c}
	if s.Limits == nil {
		s.Limits = rest.NewLimits(0)
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.getHealth)
	mux.HandleFunc("POST /api/v1/resources", s.withCaller(s.createResource))
	mux.HandleFunc("GET /api/v1/resources", s.withCaller(s.listResources))
	mux.HandleFunc("GET /api/v1/resources/{id}", s.withCaller(s.getResource))
	mux.HandleFunc("PUT /api/v1/resources/{id}", s.withCaller(s.updateResource))
	mux.HandleFunc("DELETE /api/v1/resources/{id}", s.withCaller(s.deleteResource))
	return mux
}

// handler answers a status and a body, or an error.
type handler func(w http.ResponseWriter, r *http.Request, who ledger.Caller) (status int, body any, err error)

// withCaller has a handler called for callers that are known.
func (s *server) withCaller(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.Callers.IdentifyCaller(r)
		if ledger.CodeOf(err) == ledger.Unknown && s.Unknown != nil {
			s.Unknown()
		}
		var status int
		var body any
		if err == nil {
			status, body, err = h(w, r.WithContext(rest.WithCaller(r.Context(), who, attemptOf(r, who).Request)), who)
		}
		if err != nil {
			status, body = s.describeFailure(w, r, err)
		}
		writeAnswer(w, status, body)
	}
}

func writeAnswer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(body)
}

type errorBody struct {
	Error string `json:"error"`
}

// describeFailure is an error as Kontrol's clients read it. Causes that are not the client's business are logged, and
// left out.
func (s *server) describeFailure(w http.ResponseWriter, r *http.Request, err error) (int, errorBody) {
	e, ok := errors.AsType[*ledger.Error](err)
	p, is := errors.AsType[*wire.Problem](err)
	switch {
	case is:
		e = p.ToLedger()
	case ok && e.Code == ledger.Unprotected:
		s.Log.Error("a Secret can't be sealed or opened", "request", r.Method+" "+r.URL.EscapedPath(), "error", err)
		e = rest.HideKeyFile(e)
		p = wire.ProblemOf(e)
	case ok:
		p = wire.ProblemOf(e)
	default:
		s.Log.Error("ledger request failed", "request", r.Method+" "+r.URL.EscapedPath(), "error", err)
		return http.StatusInternalServerError, errorBody{"the server failed; its log says why"}
	}
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	switch p.Status {
	case http.StatusUnprocessableEntity:
		p.Status = http.StatusBadRequest
	case http.StatusPreconditionFailed:
		p.Status = http.StatusConflict
	}
	return p.Status, errorBody{e.Error()}
}

func (s *server) getHealth(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Ledger.Head(r.Context()); err != nil {
		writeAnswer(w, http.StatusServiceUnavailable, errorBody{"the database can't be read"})
		return
	}
	writeAnswer(w, http.StatusOK, map[string]string{"status": "healthy"})
}

// checkPermission refuses what a caller may not do, and notes that.
func (s *server) checkPermission(r *http.Request, who ledger.Caller, p ledger.Permission, k ledger.Key) error {
	return s.newGuard().CheckPermission(r.Context(), attemptOf(r, who), p, k)
}

func (s *server) newGuard() rest.Guard {
	return rest.Guard{Callers: s.Callers, Ledger: s.Ledger, Limits: s.Limits, Log: s.Log}
}

func attemptOf(r *http.Request, who ledger.Caller) rest.Attempt {
	return rest.Attempt{Caller: who, Request: r.Method + " " + r.URL.EscapedPath()}
}

// readBody decodes a request's body, once it is known that its sender may do something with it. done gives back the
// room that it takes up.
func (s *server) readBody(
	w http.ResponseWriter, r *http.Request, who ledger.Caller, into any,
) (done func(), err error) {
	done, err = s.Limits.ReserveBody(w, r, attemptOf(r, who).Subject(), rest.BodyBytes)
	if err != nil {
		return nil, err
	}
	if err := decodeBody(r.Body, into); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

func decodeBody(body io.Reader, into any) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return rest.BodyReadError(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &ledger.Error{Code: ledger.Invalid, Message: "the request is not the JSON that is expected: " + err.Error()}
	}
	if d.More() {
		return &ledger.Error{Code: ledger.Invalid, Message: "the request has more than one JSON value"}
	}
	return nil
}
