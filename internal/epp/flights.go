package epp

import "sync"

// flights counts the requests that are on their way, by endpoint.
type flights struct {
	mu    sync.Mutex
	count map[string]int // an endpoint without any is not in it
	total int
}

func newFlights() *flights { return &flights{count: map[string]int{}} }

func (f *flights) add(endpoint string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total += n
	if f.count[endpoint] += n; f.count[endpoint] == 0 {
		delete(f.count, endpoint)
	}
}

func (f *flights) of(endpoints []string) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := make([]int, len(endpoints))
	for i, e := range endpoints {
		counts[i] = f.count[e]
	}
	return counts
}

func (f *flights) all() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

// flight is one request on its way. Its stream's goroutine uses it.
type flight struct {
	p        *Picker
	endpoint string // where it is, as far as is known; "" when it ended
	blocks   []uint64
	known    int // how many of the blocks the endpoint knew before
}

// begin counts a request where it is sent. The prefix counts at once, so that the next request of a burst goes to the
// same endpoint.
func (p *Picker) begin(d decision) *flight {
	f := &flight{p: p, endpoint: d.endpoints[0], blocks: d.blocks}
	f.known = p.index.Add(f.endpoint, f.blocks)
	p.flights.add(f.endpoint, 1)
	return f
}

// served moves the request to the endpoint that really got it.
func (f *flight) served(endpoint string) {
	if f == nil || f.endpoint == "" || endpoint == "" || endpoint == f.endpoint {
		return
	}
	f.p.index.Retract(f.endpoint, f.blocks, f.known)
	f.p.flights.add(f.endpoint, -1)
	f.endpoint = endpoint
	f.known = f.p.index.Add(f.endpoint, f.blocks)
	f.p.flights.add(f.endpoint, 1)
	f.p.metrics.elsewhere.Inc()
}

// end says that the request is over.
func (f *flight) end() {
	if f != nil && f.endpoint != "" {
		f.p.flights.add(f.endpoint, -1)
		f.endpoint = ""
	}
}
