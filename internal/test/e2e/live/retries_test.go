package live

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"cardea.dev/cardea/examples/calls"
)

// TestRetriesHaveABudget: when every request to a backend fails at once, one in five of them is tried again, and ten
// where that is less. The others are answered with what the backend said: a backend in trouble is not asked for a
// multiple of what its clients ask.
func TestRetriesHaveABudget(t *testing.T) {
	t.Parallel()
	const requests = 40
	var arrived atomic.Int64
	all, retried, release := make(chan struct{}), make(chan struct{}, requests), make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := arrived.Add(1); {
		case n < requests:
		case n == requests:
			close(all)
		default:
			retried <- struct{}{}
			<-release
			return
		}
		<-all
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(backend.Close)
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	s.ports["failing"] = backend.Listener.Addr().(*net.TCPAddr).Port
	s.write("failing.yaml", serviceFile("failing", "failing"))
	s.write("route.yaml", routeFile("web", "shop.example", "{retry: {codes: [503], attempts: 1}, "+to("failing")+"}"))
	s.start()
	s.Ready(t)

	list, err := calls.Parse(strings.NewReader("GET http://shop.example/ -> 200"))
	if err != nil {
		t.Fatal(err)
	}
	statuses := make(chan int, requests)
	for range requests {
		go func() {
			answers, err := s.client.Ask(t.Context(), list[0])
			if err != nil {
				t.Error(err)
				statuses <- 0
				return
			}
			statuses <- answers[0].Status
		}()
	}
	again, failed := 0, 0
	for again+failed < requests { // each is either answered, or waits at the backend once more
		select {
		case <-retried:
			again++
		case status := <-statuses:
			if failed++; status != http.StatusServiceUnavailable {
				t.Errorf("a request is answered %d, want the backend's 503", status)
			}
		}
	}
	if again < 10 || again > 12 { // several threads count at once
		t.Errorf("%d of %d requests are tried again at the same time, want 10", again, requests)
	}
	close(release)
	for range again {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("a request that was tried again is answered %d", status)
		}
	}
}
