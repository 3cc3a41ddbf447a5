package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// answer is the backend's answer: it describes the request.
type answer struct {
	Name    string      `json:"name"` // the backend's
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Query   string      `json:"query,omitempty"`
	Host    string      `json:"host"`
	Headers http.Header `json:"headers"`
}

func handler(name string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { echo(w, r, name) })
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		wait, ok := seconds(w, r, 20*time.Second)
		if !ok {
			return
		}
		select {
		case <-time.After(wait):
			echo(w, r, name)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/stream", stream)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) {
			call(w, r, name)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func echo(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	// A write fails only if the client has gone.
	_ = encoder.Encode(answer{name, r.Method, r.URL.Path, r.URL.RawQuery, r.Host, r.Header})
}

// stream sends one event a second.
func stream(w http.ResponseWriter, r *http.Request) {
	wait, ok := seconds(w, r, 24*time.Hour)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	end := time.After(wait)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 1; ; n++ {
		fmt.Fprintf(w, "data: %d\n\n", n)
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// seconds reads the query parameter of that name; the default is otherwise.
func seconds(w http.ResponseWriter, r *http.Request, otherwise time.Duration) (time.Duration, bool) {
	text := r.URL.Query().Get("seconds")
	if text == "" {
		return otherwise, true
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > 24*60*60 {
		http.Error(w, "seconds must be a number from 0 to 86400", http.StatusBadRequest)
		return 0, false
	}
	return time.Duration(n * float64(time.Second)), true
}
