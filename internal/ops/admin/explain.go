package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/explain"
)

// Explainer answers questions about requests and objects. Its methods are called by many goroutines.
type Explainer interface {
	Request(explain.Question) (explain.Story, error)
	Object(ref model.ObjectRef) (story explain.Object, found bool)
	Access(backend model.ObjectRef) (explain.Access, error)
}

const (
	maxBody     = 1 << 20          // bytes that may be sent of the body of a request to explain
	bodyArrives = 10 * time.Second // how long it may take to arrive
)

// explainRequest answers /explain?url=...&method=...&header=...&sni=...&gateway=...&agent=JSON. The request in question
// has the body of this one.
func (s *Server) explainRequest(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	question := explain.Question{
		Method: q.Get("method"), URL: q.Get("url"), Headers: q["header"], SNI: q.Get("sni"), Gateway: q.Get("gateway"),
	}
	if text := q.Get("agent"); text != "" {
		if err := json.Unmarshal([]byte(text), &question.Agent); err != nil {
			fail(w, http.StatusBadRequest, "agent: "+err.Error())
			return
		}
	}
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyArrives)); err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body of the request has more than %d MiB", maxBody>>20))
		return
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // an error would have come above
	question.Body = string(body)
	leave := s.explains.enter(r.Context()) // when all has arrived: one who sends slowly keeps nobody waiting
	if leave == nil {
		return
	}
	defer leave()
	story, err := s.config.Explainer.Request(question)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	answer(w, story)
}

// access answers /access/{namespace}/{name}: who may ask the backends of that name for what.
func (s *Server) access(w http.ResponseWriter, r *http.Request) {
	leave := s.explains.enter(r.Context())
	if leave == nil {
		return
	}
	defer leave()
	all := []explain.Access{}
	for _, kind := range explain.AccessKinds() {
		a, err := s.config.Explainer.Access(model.Ref(kind, r.PathValue("namespace"), r.PathValue("name")))
		if err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
		if len(a.Places) > 0 {
			all = append(all, a)
		}
	}
	answer(w, all)
}

// explainObject answers /explain/{kind}/{namespace}/{name} and /explain/{kind}/{name}.
func (s *Server) explainObject(w http.ResponseWriter, r *http.Request) {
	n, ok := s.kindOf(w, r)
	if !ok {
		return
	}
	leave := s.explains.enter(r.Context())
	if leave == nil {
		return
	}
	defer leave()
	story, found := s.config.Explainer.Object(model.Ref(n.Kind, r.PathValue("namespace"), r.PathValue("name")))
	if !found {
		fail(w, http.StatusNotFound, fmt.Sprintf("%s %q not found", n.Resource(), r.PathValue("name")))
		return
	}
	answer(w, story)
}
