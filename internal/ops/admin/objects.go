package admin

import (
	"encoding/json"
	"fmt"
	"net/http"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// KindCount is an entry of /objects.
type KindCount struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Name       string `json:"name"` // in paths
	Namespaced bool   `json:"namespaced"`
	Count      int    `json:"count"`
	// Unread says why the objects are not counted: the user may not list them.
	Unread string `json:"unread,omitempty"`
}

// List is several objects, as `kubectl get -o json` prints them.
type List struct {
	APIVersion string            `json:"apiVersion"` // "v1"
	Kind       string            `json:"kind"`       // "List"
	Items      []json.RawMessage `json:"items"`
}

func (s *Server) answerKinds(w http.ResponseWriter, r *http.Request) {
	counts := []KindCount{}
	for _, k := range s.config.Catalog.All() {
		count, err := s.config.Objects.Count(k.Kind)
		if err != nil {
			writeFailure(w, http.StatusInternalServerError, err.Error())
			return
		}
		counts = append(counts, KindCount{
			Kind: k.String(), APIVersion: k.APIVersion(), Name: s.config.Catalog.ShortestName(k), Namespaced: !k.Cluster,
			Count: count,
		})
	}
	writeJSON(w, counts)
}

// listObjects answers /objects/{kind}; with ?namespace=, the objects of one namespace.
func (s *Server) listObjects(w http.ResponseWriter, r *http.Request) {
	if n, ok := s.kindOf(w, r); ok {
		s.answerList(w, n, r.URL.Query().Get("namespace"))
	}
}

// listOrGet answers /objects/{kind}/{name}: an object of a kind without namespaces, else the objects of a namespace.
func (s *Server) listOrGet(w http.ResponseWriter, r *http.Request) {
	n, ok := s.kindOf(w, r)
	switch {
	case !ok:
	case !n.Cluster:
		s.answerList(w, n, r.PathValue("name"))
	default:
		s.answerObject(w, n, model.Ref(n.Kind, "", r.PathValue("name")))
	}
}

func (s *Server) getNamespaced(w http.ResponseWriter, r *http.Request) {
	n, ok := s.kindOf(w, r)
	switch {
	case !ok:
	case n.Cluster:
		writeFailure(w, http.StatusNotFound, fmt.Sprintf("%s have no namespace: ask for /objects/%s/NAME", n.Plural,
			n.Plural))
	default:
		s.answerObject(w, n, model.Ref(n.Kind, r.PathValue("namespace"), r.PathValue("name")))
	}
}

func (s *Server) answerList(w http.ResponseWriter, n *kind.Kind, namespace string) {
	objects, err := s.config.Objects.List(n.Kind, namespace)
	if err != nil {
		writeFailure(w, http.StatusInternalServerError, err.Error())
		return
	}
	list := List{APIVersion: "v1", Kind: "List", Items: make([]json.RawMessage, 0, len(objects))}
	for _, o := range objects {
		shown, err := redactObject(n, o)
		if err != nil {
			writeFailure(w, http.StatusInternalServerError, err.Error())
			return
		}
		list.Items = append(list.Items, shown)
	}
	writeJSON(w, list)
}

func (s *Server) answerObject(w http.ResponseWriter, n *kind.Kind, ref model.ObjectRef) {
	object, found, err := s.config.Objects.Get(ref)
	if err == nil && !found {
		writeFailure(w, http.StatusNotFound, fmt.Sprintf("%s %q not found", n.ResourceName(), ref.Name()))
		return
	}
	if err == nil {
		object, err = redactObject(n, object)
	}
	if err != nil {
		writeFailure(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, object)
}

// redactObject replaces each value of a Secret: the base64 of "[redacted]".
func redactObject(k *kind.Kind, object json.RawMessage) (json.RawMessage, error) {
	if k.Hidden == nil {
		return object, nil
	}
	var shown kind.JSONObject
	if err := json.Unmarshal(object, &shown); err != nil {
		return nil, fmt.Errorf("read an object of kind %s: %w", k, err)
	}
	shown.RedactFields(k.Hidden...)
	return json.Marshal(shown)
}

// kindOf reads the kind in the path.
func (s *Server) kindOf(w http.ResponseWriter, r *http.Request) (*kind.Kind, bool) {
	n, ok := s.config.Catalog.FindByName(r.PathValue("kind"))
	if !ok {
		writeFailure(w, http.StatusNotFound,
			fmt.Sprintf("unknown kind %q: /objects lists the kinds that Cardea reads", r.PathValue("kind")))
	}
	return n, ok
}
