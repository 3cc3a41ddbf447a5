package epp

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// adminHandler serves
//
//	GET  /metrics            metrics
//	GET  /healthz            200 when the members of the pool are known, else 503
//	GET  /unreached          which endpoints don't answer (UnreachedEndpoints)
//	GET  /explain            which endpoint a request without a body would get, by load alone
//	POST /explain/PATH       the same for a request: its path, its headers, its body
//
// Nobody can change anything here.
func (p *Picker) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if p.pool.Load() == nil {
			http.Error(w, "the members of the pool are not known yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /unreached", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, p.listUnreached()) })
	mux.HandleFunc("/explain", p.serveExplain)
	mux.HandleFunc("/explain/", p.serveExplain)
	return mux
}

func (p *Picker) serveExplain(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(p.cfg.BodyLimit)))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c := call{path: strings.TrimPrefix(r.URL.Path, "/explain"), header: r.Header.Get, body: body}
	writeJSON(w, p.explainCall(c))
}

func writeJSON(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(answer) // fails if the client is gone
}
