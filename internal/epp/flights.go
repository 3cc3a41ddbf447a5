package epp

import "sync"

// inFlightCounter counts the requests that are on their way, by endpoint.
type inFlightCounter struct {
	mu    sync.Mutex
	count map[string]int // an endpoint without any is not in it
	total int
}

func newInFlightCounter() *inFlightCounter { return &inFlightCounter{count: map[string]int{}} }

func (f *inFlightCounter) addRequests(endpoint string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total += n
	if f.count[endpoint] += n; f.count[endpoint] == 0 {
		delete(f.count, endpoint)
	}
}

func (f *inFlightCounter) countsOf(endpoints []string) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := make([]int, len(endpoints))
	for i, e := range endpoints {
		counts[i] = f.count[e]
	}
	return counts
}

func (f *inFlightCounter) totalCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

// inFlightRequest is one request on its way. Its stream's goroutine uses it.
type inFlightRequest struct {
	p           *Picker
	endpoint    string // where it is, as far as is known; "" when it ended
	blocks      []uint64
	knownBlocks int // how many of the blocks the endpoint knew before
}

// trackRequest counts a request where it is sent. The prefix counts at once, so that the next request of a burst goes
// to the same endpoint.
func (p *Picker) trackRequest(d decision) *inFlightRequest {
	f := &inFlightRequest{p: p, endpoint: d.endpoints[0], blocks: d.blocks}
	f.knownBlocks = p.index.AddPrompt(f.endpoint, f.blocks)
	p.flights.addRequests(f.endpoint, 1)
	return f
}

// moveTo moves the request to the endpoint that really got it.
func (f *inFlightRequest) moveTo(endpoint string) {
	if f == nil || f.endpoint == "" || endpoint == "" || endpoint == f.endpoint {
		return
	}
	f.p.index.RetractPrompt(f.endpoint, f.blocks, f.knownBlocks)
	f.p.flights.addRequests(f.endpoint, -1)
	f.endpoint = endpoint
	f.knownBlocks = f.p.index.AddPrompt(f.endpoint, f.blocks)
	f.p.flights.addRequests(f.endpoint, 1)
	f.p.metrics.servedElsewhere.Inc()
}

// end says that the request is over.
func (f *inFlightRequest) end() {
	if f != nil && f.endpoint != "" {
		f.p.flights.addRequests(f.endpoint, -1)
		f.endpoint = ""
	}
}
