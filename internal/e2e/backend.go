package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Backend answers every request with what it saw, in the form that examples/calls reads, and its name. Among the headers that
// it says it saw is one of its own: "attempt", how often it has got the same request line by now. The query may ask it to
// misbehave:
//
//	?status=503&times=2   the first two requests with this very query get a 503
//	?delay=1s&times=2     the first two requests with this very query are answered after a second
//	?await=3&of=/a        it answers when it has got three requests with the path /a
//
// Without times, all requests.
func Backend(t testing.TB, name string) (port int) {
	t.Helper()
	seen := &tally{counts: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempt := seen.add(r.URL.Path, r.Method+" "+r.RequestURI)
		query := r.URL.Query()
		if times, err := strconv.Atoi(query.Get("times")); err != nil || attempt <= times {
			if delay, err := time.ParseDuration(query.Get("delay")); err == nil {
				select {
				case <-time.After(delay):
				case <-r.Context().Done():
				}
			}
			if status, err := strconv.Atoi(query.Get("status")); err == nil {
				w.WriteHeader(status)
			}
		}
		if n, err := strconv.Atoi(query.Get("await")); err == nil {
			seen.await(r, query.Get("of"), n)
			attempt = seen.of(query.Get("of"))
		}
		r.Header.Set("Attempt", strconv.Itoa(attempt))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": name, "method": r.Method, "path": r.URL.Path, "query": r.URL.RawQuery, "host": r.Host, "headers": r.Header,
		})
	}))
	t.Cleanup(server.Close)
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err = strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// tally counts what a backend got.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

// add counts a path and a request line, and tells how often the latter came.
func (c *tally) add(path, line string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[path]++
	c.counts[line]++
	return c.counts[line]
}

func (c *tally) of(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[key]
}

// await waits until a path was asked for n times, or the client gives up.
func (c *tally) await(r *http.Request, path string, n int) {
	for c.of(path) < n && r.Context().Err() == nil {
		time.Sleep(5 * time.Millisecond) // between two looks at the condition
	}
}
