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
	ExplainRequest(explain.Question) (explain.Story, error)
	ExplainObject(ref model.ObjectRef) (story explain.Object, found bool)
	ExplainAccess(backend model.ObjectRef) (explain.Access, error)
}

// SuggestNamespace says in which namespaces objects of a name are, for one that is not where it was looked for; "": in
// none, or the Explainer can't tell.
func SuggestNamespace(e Explainer, k model.Kind, name string) string {
	finder, can := e.(interface {
		FindNamespaces(k model.Kind, name string) []string
	})
	if !can {
		return ""
	}
	var list []string
	for _, namespace := range finder.FindNamespaces(k, name) {
		list = append(list, namespace+"/"+name)
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("; there is %s: state its namespace with -n", model.JoinSome(list))
}

const (
	maxBody     = 1 << 20          // bytes that may be sent of the body of a request to explain
	bodyTimeout = 10 * time.Second // how long it may take to arrive
)

// explainRequest answers /explain?url=...&method=...&header=...&sni=...&gateway=...&client=...&agent=JSON. The request
// in question has the body of this one. A URL of tcp, tls or udp asks about a connection, which has no method, no
// headers and no body.
func (s *Server) explainRequest(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	question := explain.Question{
		Method: q.Get("method"), URL: q.Get("url"), Headers: q["header"], SNI: q.Get("sni"), Gateway: q.Get("gateway"),
		Client: q.Get("client"),
	}
	if text := q.Get("agent"); text != "" {
		if err := json.Unmarshal([]byte(text), &question.Agent); err != nil {
			writeFailure(w, http.StatusBadRequest, "agent: "+err.Error())
			return
		}
	}
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		writeFailure(w, http.StatusInternalServerError, err.Error())
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		writeFailure(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body of the request has more than %d MiB",
			maxBody>>20))
		return
	}
	if err != nil {
		writeFailure(w, http.StatusBadRequest, err.Error())
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // an error would have come above
	question.Body = string(body)
	leave := s.explainLimiter.acquireSlot(r.Context()) // when all has arrived: one who sends slowly keeps nobody waiting
	if leave == nil {
		return
	}
	defer leave()
	story, err := s.config.Explainer.ExplainRequest(question)
	if err != nil {
		writeFailure(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, story)
}

// answerAccess answers /access/{namespace}/{name}: who may ask the backends of that name for what.
func (s *Server) answerAccess(w http.ResponseWriter, r *http.Request) {
	leave := s.explainLimiter.acquireSlot(r.Context())
	if leave == nil {
		return
	}
	defer leave()
	all := []explain.Access{}
	for _, kind := range explain.AccessKinds(s.config.Catalog) {
		a, err := s.config.Explainer.ExplainAccess(model.Ref(kind, r.PathValue("namespace"), r.PathValue("name")))
		if err != nil {
			writeFailure(w, http.StatusInternalServerError, err.Error())
			return
		}
		if len(a.Places) > 0 {
			all = append(all, a)
		}
	}
	writeJSON(w, all)
}

// explainObject answers /explain/{kind}/{namespace}/{name} and /explain/{kind}/{name}.
func (s *Server) explainObject(w http.ResponseWriter, r *http.Request) {
	n, ok := s.kindOf(w, r)
	if !ok {
		return
	}
	leave := s.explainLimiter.acquireSlot(r.Context())
	if leave == nil {
		return
	}
	defer leave()
	story, found := s.config.Explainer.ExplainObject(model.Ref(n.Kind, r.PathValue("namespace"), r.PathValue("name")))
	if !found {
		writeFailure(w, http.StatusNotFound, fmt.Sprintf("%s %q not found%s", n.ResourceName(), r.PathValue("name"),
			SuggestNamespace(s.config.Explainer, n.Kind, r.PathValue("name"))))
		return
	}
	writeJSON(w, story)
}
