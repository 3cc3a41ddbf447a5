package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// pages is the contents of the index.
var pages = []struct{ Path, About string }{
	{"/healthz", "200 while the program runs"},
	{"/readyz", "200 once the folder was read and every proxy has acknowledged a complete configuration; " +
		"until then 503 with the reason"},
	{"/metrics", "for Prometheus; /proxies/NAMESPACE/NAME/metrics: those of a Gateway's proxy that runs here; " +
		"/pickers/NAMESPACE/NAME/metrics: those of an InferencePool's picker"},
	{"/objects", "the kinds, with the number of objects"},
	{"/objects/gateways", "all objects of a kind, with their status; /objects/KIND/NAMESPACE/NAME is one object"},
	{"/findings", "what is wrong with the objects"},
	{"/explain?url=http://localhost/",
		"where a request or a connection (tcp://, tls://, udp://) goes, and why; /explain/KIND/NAMESPACE/NAME: " +
			"what an object became"},
	{"/debug/flow", "every collection: keys, runs, changes"},
	{"/debug/flow/turns", "the last turns: their causes, what ran and what changed"},
	{"/debug/flow/input/Gateway", "all keys of a collection: the value, its last change, what it was made from"},
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

func (s *Server) answerIndex(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	// The template can't fail. A write fails only if the client has gone.
	_ = index.Execute(w, pages)
}

func (s *Server) answerHealthz(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") }

func (s *Server) answerReadyz(w http.ResponseWriter, r *http.Request) {
	ready, said := s.config.Ready()
	if !ready {
		http.Error(w, said, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, strings.TrimSuffix("ok\n"+said, "\n"))
}

// childMetrics answers with the metrics of what runs here for an object of a kind: its proxy, or its picker. ask is nil
// if nothing does.
func childMetrics(
	ask func(context.Context, model.ObjectRef) (text []byte, found bool, err error), kind model.Kind, what string,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		object := model.Ref(kind, r.PathValue("namespace"), r.PathValue("name"))
		if ask == nil {
			writeFailure(w, http.StatusNotFound, "no "+what+" runs here: in a cluster its pod has the metrics")
			return
		}
		switch text, found, err := ask(r.Context(), object); {
		case err != nil:
			writeFailure(w, http.StatusBadGateway, err.Error())
		case !found:
			writeFailure(w, http.StatusNotFound, object.String()+" has no "+what+" that runs")
		default:
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_, _ = w.Write(text)
		}
	}
}

func (s *Server) answerFindings(w http.ResponseWriter, r *http.Request) {
	list := s.config.Findings()
	if list == nil {
		list = []Finding{}
	}
	writeJSON(w, list)
}

func (s *Server) flowStats(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, s.config.Graph.Stats())
}
func (s *Server) flowTurns(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, s.config.Graph.Turns())
}

func (s *Server) flowCollection(w http.ResponseWriter, r *http.Request) {
	// Turns wait for a dump, so it must not wait for a slow client.
	var dump bytes.Buffer
	if err := s.config.Graph.Dump(&dump, r.PathValue("collection")); err != nil {
		code := http.StatusInternalServerError
		if errors.Is(err, flow.ErrNoCollection) {
			code = http.StatusNotFound
		}
		writeFailure(w, code, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(dump.Bytes())
}
