// Package webserver makes the HTTP servers of Cardea's APIs.
//
// It owns how long a client may take to send a request, and must never know what is served. Start reading at New.
package webserver

import (
	"log/slog"
	"net/http"
	"time"
)

// New makes a server that requires requests to arrive within bodyTime, even if no handler reads their body: net/http
// reads what is left of a body before it answers. Messages of net/http are logged for debugging.
func New(log *slog.Logger, bodyTime time.Duration, handler http.Handler) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 {
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
			}
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
