package admin

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"cardea.dev/cardea/internal/model"
)

// KindCount is an entry of /objects.
type KindCount struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Name       string `json:"name"` // in paths
	Namespaced bool   `json:"namespaced"`
	Count      int    `json:"count"`
}

// List is several objects, as `kubectl get -o json` prints them.
type List struct {
	APIVersion string            `json:"apiVersion"` // "v1"
	Kind       string            `json:"kind"`       // "List"
	Items      []json.RawMessage `json:"items"`
}

func (s *Server) kinds(w http.ResponseWriter, r *http.Request) {
	counts := []KindCount{}
	for _, n := range Kinds() {
		count, err := s.config.Objects.Count(n.Kind)
		if err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
		counts = append(counts, KindCount{n.Kind.String(), n.APIVersion, n.Plural, n.Namespaced, count})
	}
	answer(w, counts)
}

// list answers /objects/{kind}, of one namespace with ?namespace=.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	if n, ok := kindOf(w, r); ok {
		s.answerList(w, n, r.URL.Query().Get("namespace"))
	}
}

// listOrGet answers /objects/{kind}/{name}: an object of a kind without namespaces, else the objects of a namespace.
func (s *Server) listOrGet(w http.ResponseWriter, r *http.Request) {
	n, ok := kindOf(w, r)
	switch {
	case !ok:
	case n.Namespaced:
		s.answerList(w, n, r.PathValue("name"))
	default:
		s.answerObject(w, n, model.Ref(n.Kind, "", r.PathValue("name")))
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	n, ok := kindOf(w, r)
	switch {
	case !ok:
	case !n.Namespaced:
		fail(w, http.StatusNotFound, fmt.Sprintf("%s have no namespace: ask for /objects/%s/NAME", n.Plural, n.Plural))
	default:
		s.answerObject(w, n, model.Ref(n.Kind, r.PathValue("namespace"), r.PathValue("name")))
	}
}

func (s *Server) answerList(w http.ResponseWriter, n KindNames, namespace string) {
	objects, err := s.config.Objects.List(n.Kind, namespace)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	list := List{APIVersion: "v1", Kind: "List", Items: make([]json.RawMessage, 0, len(objects))}
	for _, o := range objects {
		shown, err := show(n.Kind, o)
		if err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
		list.Items = append(list.Items, shown)
	}
	answer(w, list)
}

func (s *Server) answerObject(w http.ResponseWriter, n KindNames, ref model.ObjectRef) {
	object, found, err := s.config.Objects.Get(ref)
	if err == nil && !found {
		fail(w, http.StatusNotFound, fmt.Sprintf("%s %q not found", resourceName(n), ref.Name()))
		return
	}
	if err == nil {
		object, err = show(n.Kind, object)
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, object)
}

// redacted replaces each value of a Secret: the base64 of "[redacted]".
var redacted = base64.StdEncoding.EncodeToString([]byte("[redacted]"))

// show is an object as the API shows it. A client of this API may not be allowed to read keys, so of a Secret only the
// names of its entries are shown.
func show(kind model.Kind, object json.RawMessage) (json.RawMessage, error) {
	if kind != model.KindSecret {
		return object, nil
	}
	var secret map[string]any
	if err := json.Unmarshal(object, &secret); err != nil {
		return nil, fmt.Errorf("read a secret: %w", err)
	}
	for _, field := range []string{"data", "stringData"} {
		data, _ := secret[field].(map[string]any)
		for name := range data {
			data[name] = redacted
		}
	}
	return json.Marshal(secret)
}

// kindOf reads the kind in the path.
func kindOf(w http.ResponseWriter, r *http.Request) (KindNames, bool) {
	n, ok := KindNamed(r.PathValue("kind"))
	if !ok {
		fail(w, http.StatusNotFound,
			fmt.Sprintf("unknown kind %q: /objects lists the kinds that Cardea reads", r.PathValue("kind")))
	}
	return n, ok
}

// resourceName is a kind as kubectl's messages name it: "httproutes.gateway.networking.k8s.io".
func resourceName(n KindNames) string {
	if group := n.Kind.Group(); group != "" {
		return n.Plural + "." + group
	}
	return n.Plural
}
