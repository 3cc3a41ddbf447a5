package e2e

import (
	"net"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc"
)

// Picker is an endpoint picker of an inference pool, as tests need one: it speaks Envoy's external processing over TLS
// with a certificate that nobody knows, and does what the headers of a request say:
//
//	x-pick: ENDPOINTS  what it names, such as "127.0.0.1:1,127.0.0.1:2"; none: nothing
//	x-pick-by: header  only in the header, or only in the "metadata"; else in both
//	x-pick-when: early it answers before it has the body; else at its end, as the pickers of the project do
//	x-pick-fault:      what else it does: see Fault
//
// What it does in the answer's phase is to add the header "told-served": the endpoint that the proxy says has served.
type Picker struct {
	Port   int
	Server *grpc.Server

	mu    sync.Mutex
	asked []http.Header // what each request had for headers, in the order of their arrival
	open  int           // streams that have not ended
}

// StartPicker starts a Picker at an address of the machine.
func StartPicker(t testing.TB) *Picker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Picker{Port: l.Addr().(*net.TCPAddr).Port}
	p.Server = PickerServer(p.pick)
	go func() { _ = p.Server.Serve(l) }() // it ends with the test
	t.Cleanup(func() { p.Server.Stop() })
	return p
}

// pick is what a request asks for.
func (p *Picker) pick(h http.Header) Pick {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, h)
	p.open++
	return Pick{
		Ended:     p.ended,
		Endpoints: h.Get("X-Pick"), By: h.Get("X-Pick-By"), Early: h.Get("X-Pick-When") == "early",
		Fault:    Fault(h.Get("X-Pick-Fault")),
		Answered: func(served string) map[string]string { return map[string]string{"told-served": served} },
	}
}

// Asked is how many requests it was asked about, and the headers of the last one.
func (p *Picker) Asked() (n int, last http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) == 0 {
		return 0, nil
	}
	return len(p.asked), p.asked[len(p.asked)-1]
}

// Open is how many requests it knows as under way.
func (p *Picker) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// ended notes that a request is no longer under way.
func (p *Picker) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
}
