package admin

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"cardea.dev/cardea/internal/flow"
)

// pages are what the index lists.
var pages = []struct{ Path, About string }{
	{"/healthz", "ok while the program answers"},
	{"/readyz", "ok once the folder was read and every proxy has acknowledged a whole configuration, else 503 and why"},
	{"/metrics", "for Prometheus"},
	{"/objects", "the kinds, and how many objects there are"},
	{"/objects/gateways", "all objects of a kind; /objects/KIND/NAMESPACE/NAME is one, with its status"},
	{"/findings", "what is wrong with the objects, and how to mend it"},
	{"/explain?url=http://localhost/",
		"where a request goes, and why; /explain/KIND/NAMESPACE/NAME: what became of an object"},
	{"/debug/flow", "every collection: keys, runs, changes"},
	{"/debug/flow/turns", "the last turns: what caused them, what they ran and changed"},
	{"/debug/flow/input/Gateway", "all keys of a collection: value, last change, what it was made from"},
	{"/debug/pprof/", "profiles"},
}

var index = template.Must(template.New("index").Parse(`<!doctype html>
<meta charset="utf-8">
<title>Cardea</title>
<h1>Cardea</h1>
<table>
{{range .}}<tr><td><a href="{{.Path}}">{{.Path}}</a></td><td>{{.About}}</td></tr>
{{end}}</table>
`))

func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	// The template can't fail, the caller may have gone away.
	_ = index.Execute(w, pages)
}

func (s *Server) healthz(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") }

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if ready, reason := s.config.Ready(); !ready {
		http.Error(w, reason, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (s *Server) findings(w http.ResponseWriter, r *http.Request) {
	list := s.config.Findings()
	if list == nil {
		list = []Finding{}
	}
	answer(w, list)
}

func (s *Server) flowStats(w http.ResponseWriter, r *http.Request) { answer(w, s.config.Graph.Stats()) }
func (s *Server) flowTurns(w http.ResponseWriter, r *http.Request) { answer(w, s.config.Graph.Turns()) }

func (s *Server) flowCollection(w http.ResponseWriter, r *http.Request) {
	// No turn runs during a dump, so it must not wait for a slow caller.
	var dump bytes.Buffer
	if err := s.config.Graph.Dump(&dump, r.PathValue("collection")); err != nil {
		code := http.StatusInternalServerError
		if errors.Is(err, flow.ErrNoCollection) {
			code = http.StatusNotFound
		}
		fail(w, code, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(dump.Bytes())
}
