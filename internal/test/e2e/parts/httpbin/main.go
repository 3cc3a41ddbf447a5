// Command httpbin is a backend of the tests that does more than echo: go-httpbin, which counts what it is asked for.
//
//	httpbin
//
// It listens on a loopback port of its own and prints the port. GET /asked tells of each path how many requests there
// were, and how many at a time. The other paths are go-httpbin's: /delay/2s, /drip, /status/503, /headers, ...
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
)

// asked is what a path was asked for.
type asked struct{ Requests, AtOnce, open int }

// counting counts requests by path, from when they arrive.
type counting struct {
	next http.Handler
	mu   sync.Mutex
	by   map[string]*asked
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	of := c.begin(r.URL.Path)
	defer c.end(of)
	c.next.ServeHTTP(w, r)
}

func (c *counting) begin(path string) *asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.by[path]
	if of == nil {
		of = &asked{}
		c.by[path] = of
	}
	of.Requests++
	of.open++
	of.AtOnce = max(of.AtOnce, of.open)
	return of
}

func (c *counting) end(of *asked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of.open--
}

func (c *counting) tell(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.NewEncoder(w).Encode(c.by)
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	// Tests end what is slow; httpbin would after 10 s.
	c := &counting{next: httpbin.New(httpbin.WithMaxDuration(time.Hour)), by: map[string]*asked{}}
	mux := http.NewServeMux()
	mux.Handle("/", c)
	mux.HandleFunc("GET /asked", c.tell)
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(l, mux))
}
