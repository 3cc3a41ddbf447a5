package main

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// perSecond is how many requests the traffic makes.
const perSecond = 100

// traffic sends requests to many routes in turn at a steady rate, whether or not earlier ones were answered: every
// second request over a new connection, the others over kept connections.
type traffic struct {
	proxy  *caller
	routes int
	cancel context.CancelFunc
	done   chan struct{}
	flying sync.WaitGroup

	mu     sync.Mutex
	asked  int
	failed int
	first  error // of those that failed
}

func (s *stage) traffic(routes int) *traffic {
	ctx, cancel := context.WithCancel(context.Background())
	t := &traffic{proxy: s.proxy, routes: routes, cancel: cancel, done: make(chan struct{})}
	go t.run(ctx)
	return t
}

func (t *traffic) run(ctx context.Context) {
	defer close(t.done)
	clients := []*http.Client{
		{Transport: &http.Transport{MaxIdleConnsPerHost: perSecond}, Timeout: 10 * time.Second},
		{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second},
	}
	defer clients[0].CloseIdleConnections()
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			t.flying.Wait()
			return
		case <-tick.C:
		}
		// A prime as the step goes through all routes.
		t.flying.Go(func() { t.once(clients[n%2], host(name(n*7919%t.routes))) })
	}
}

func (t *traffic) once(client *http.Client, host string) {
	_, err := ask(context.Background(), client, t.proxy.address, host)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked++; err != nil {
		if t.failed++; t.first == nil {
			t.first = err
		}
	}
}

// end stops the traffic and waits for the answers.
func (t *traffic) end() (asked, failed int) {
	t.cancel()
	<-t.done
	if t.first != nil {
		progress("the first of %d failed requests: %v", t.failed, t.first)
	}
	return t.asked, t.failed
}
