package admin

import (
	"fmt"
	"net/http"

	"cardea.dev/cardea/internal/explain"
	"cardea.dev/cardea/internal/model"
)

// Explainer answers questions about requests and objects. Its methods are called by many goroutines.
type Explainer interface {
	Request(explain.Question) (explain.Story, error)
	Object(ref model.ObjectRef) (story explain.Object, found bool)
}

// explainRequest answers /explain?url=...&method=...&header=...&sni=...&gateway=...
func (s *Server) explainRequest(w http.ResponseWriter, r *http.Request) {
	leave := s.explains.enter(r.Context())
	if leave == nil {
		return
	}
	defer leave()
	q := r.URL.Query()
	story, err := s.config.Explainer.Request(explain.Question{
		Method: q.Get("method"), URL: q.Get("url"), Headers: q["header"], SNI: q.Get("sni"), Gateway: q.Get("gateway"),
	})
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	answer(w, story)
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
