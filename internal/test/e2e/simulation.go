package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
)

// Comparison counts what was compared.
type Comparison struct {
	mu       sync.Mutex
	calls    int // whose simulation agreed with what a real Envoy answered
	differed int
	open     map[string]map[string]bool // by file: what is not simulated; an entry for each that was run
}

// NewComparison begins one. It tells what it counted when the test ends.
func NewComparison(t *testing.T) *Comparison {
	c := &Comparison{open: map[string]map[string]bool{}}
	t.Cleanup(func() {
		t.Logf("%d calls of %d files were made through a real Envoy and simulated: %d differ", c.calls, len(c.open),
			c.differed)
	})
	return c
}

// simulatedFolder simulates what a folder means.
type simulatedFolder struct {
	comparison *Comparison
	file       string
	configs    []*simulate.Config // of each Gateway
	backends   map[string]string  // names by port
}

func (c *Comparison) of(t *testing.T, w *world.World, ports map[string]int) *simulatedFolder {
	t.Helper()
	_, file, _ := strings.Cut(t.Name(), "/")
	s := &simulatedFolder{comparison: c, file: file, backends: map[string]string{}}
	for name, port := range ports {
		s.backends[portOf(strconv.Itoa(port), strings.HasPrefix(name, "udp-"))] = name
	}
	w.Graph.View(func(v flow.View) { s.configs = simulationsOf(t, w, v) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[file] = map[string]bool{}
	return s
}

func simulationsOf(t *testing.T, w *world.World, v flow.View) []*simulate.Config {
	t.Helper()
	configs, err := simulations(w, v)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Values(configs))
}

// compare wants each answer of a real Envoy to be one that the simulation expects, and each that it expects often to
// have come.
func (s *simulatedFolder) compare(t *testing.T, call calls.Call, answers []calls.Answer) {
	t.Helper()
	if call.Method == "SEND" {
		s.compareSent(t, call, answers)
		return
	}
	result, request := s.simulate(call)
	s.comparison.mu.Lock()
	for _, name := range result.NotSimulated {
		s.comparison.open[s.file][name] = true
	}
	s.comparison.mu.Unlock()
	if result.Undecided {
		return
	}
	expected := s.expected(result)
	came := make([]bool, len(expected))
	differs := false
	for _, answer := range answers {
		if len(result.NotSimulated) > 0 && answer.Seen.Name == "" || slices.ContainsFunc(result.NotSimulated, isFilter) {
			continue // what is not simulated may be what answered, or what changed the request
		}
		if encoding := answer.Header.Get("Content-Encoding"); encoding != "" && answer.Seen.Name == "" {
			continue // whose answer it is can't be read
		}
		var reasons []string
		for i, e := range expected {
			err := e.check(answer, request)
			if err == nil && call.Times == 1 {
				err = e.checkAttempts(answer, request)
			}
			if err == nil {
				reasons, came[i] = nil, true
				break
			}
			reasons = append(reasons, err.Error())
		}
		if len(reasons) > 0 && !differs {
			differs = true
			t.Errorf("calls:%d: %s: Envoy and the simulation disagree: %s", call.Line, call.Text, strings.Join(reasons, "; or "))
		}
	}
	for i, e := range expected {
		if often := e.share*float64(call.Times) > 20; often && !came[i] {
			differs = true
			t.Errorf("calls:%d: %s: the simulation expects %v for %.0f%% of the calls, and it never came", call.Line, call.Text,
				e, 100*e.share)
		}
	}
	s.comparison.mu.Lock()
	defer s.comparison.mu.Unlock()
	s.comparison.calls++
	if differs {
		s.comparison.differed++
	}
}

// isFilter tells whether something that is not simulated is an HTTP filter; fields have a dot in their names.
func isFilter(name string) bool { return !strings.Contains(name, ".") }

// simulate asks the Gateway that has the port.
func (s *simulatedFolder) simulate(call calls.Call) (result simulate.Result, request request.Request) {
	request = simulated(call)
	result.Closed = "no Gateway"
	for _, c := range s.configs {
		if result = c.SimulateRequest(request); result.Listener != "" {
			break
		}
	}
	return result, request
}

// simulated is what Go's client sends for a call.
func simulated(call calls.Call) request.Request {
	r := request.Request{
		Method: call.Method, Host: call.URL.Host, Path: call.URL.RequestURI(), Header: call.Header.Clone(),
		TLS: call.URL.Scheme == "https", Port: Offset + 80,
	}
	if r.TLS {
		r.Port = Offset + 443
		if r.SNI = call.URL.Hostname(); net.ParseIP(r.SNI) != nil {
			r.SNI = ""
		}
	}
	if port, err := strconv.Atoi(call.URL.Port()); err == nil {
		r.Port = uint32(port + Offset)
	}
	if call.Host != "" {
		r.Host = call.Host
	}
	r.Agent = agentOf(call)
	if call.Method == "GRPC" {
		r.Method = http.MethodPost
		r.Header.Set("Content-Type", "application/grpc+json")
		r.Header.Set("Te", "trailers")
	}
	return r
}

// agentOf is who makes a call, and the message of MCP in it; nil: what stands in it is none, or nobody can tell.
func agentOf(call calls.Call) *request.Agent {
	agent := new(request.Agent)
	if call.Client == "gateway" && call.URL.Scheme == "https" {
		agent.Caller = "spiffe://test/gateway"
	}
	if call.Body == "" {
		return agent
	}
	var message struct {
		JSONRPC string         `json:"jsonrpc"`
		Method  string         `json:"method"`
		Params  map[string]any `json:"params"`
		Result  any            `json:"result"`
		Error   any            `json:"error"`
	}
	for _, document := range DocumentsIn([]byte(call.Body)) {
		if document.Twice() != "" {
			return nil
		}
	}
	accept := call.Header.Get("accept")
	if json.Unmarshal([]byte(call.Body), &message) != nil || message.JSONRPC != "2.0" || message.Method == "" ||
		message.Result != nil || message.Error != nil || call.Header.Get("content-type") != "application/json" ||
		!strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream") {
		return nil
	}
	agent.Method, agent.Params = message.Method, message.Params
	return agent
}

// expectation is one of the answers that a simulation allows.
type expectation struct {
	share    float64
	status   int // of the proxy's own answer; 0: closed, or one of names answers
	location string
	header   http.Header // of the proxy's own answer
	names    []string    // of the backends, one of which answers; none: the proxy does
	request  request.Request
	response []request.HeaderChange
	limits   request.Limits
	others   bool // it is an answer of somebody else's, with any status
	gated    bool // by what can't be told: so can't all that the backend gets
}

func (e expectation) String() string { return fmt.Sprintf("%d %v", e.status, e.names) }

func (s *simulatedFolder) expected(r simulate.Result) []expectation {
	if r.Closed != "" {
		return []expectation{{share: 1}}
	}
	var list []expectation
	for _, o := range r.Outcomes {
		e := expectation{share: o.Share, status: o.Status, location: o.Location, header: o.Header, response: o.Response,
			limits: o.Limits}
		if o.Request != nil {
			e.request = *o.Request
			for _, endpoint := range o.Endpoints {
				_, port, _ := net.SplitHostPort(endpoint)
				if name, ok := s.backends[port]; ok {
					e.names = append(e.names, name)
				}
			}
			if len(e.names) == 0 { // nobody listens there
				e.status = http.StatusServiceUnavailable
				if strings.HasPrefix(e.request.Header.Get("Content-Type"), "application/grpc") {
					e.status, e.header = http.StatusOK, http.Header{"Grpc-Status": {"14"}}
				}
			}
		}
		list = append(list, e)
		o.Gates = slices.DeleteFunc(slices.Clone(o.Gates), func(g request.Verdict) bool { return g.Shadow != "" })
		if len(o.Gates) > 0 { // which of them comes can't be told, nor what else the backend gets
			list[len(list)-1].share, list[len(list)-1].gated = 0, true
		}
		for _, g := range o.Gates {
			if g.Status != 0 {
				list = append(list, refusedBy(g, o.Request))
			}
		}
	}
	return list
}

// refusedBy is the answer to a request that what a gate says is not so of.
func refusedBy(g request.Verdict, sent *request.Request) expectation {
	e := expectation{status: g.Status, others: g.Status == request.AnyStatus}
	if sent != nil && strings.HasPrefix(sent.Header.Get("Content-Type"), "application/grpc") {
		e.status, e.header = http.StatusOK, http.Header{"Grpc-Status": {grpcOf[g.Status]}}
	}
	return e
}

// grpcOf are the statuses of gRPC that Envoy makes of its own.
var grpcOf = map[int]string{401: "16", 403: "7", 429: "8", 500: "2", 503: "14"}

// check tells how an answer differs.
func (e expectation) check(a calls.Answer, sent request.Request) error {
	for name := range a.Header {
		said := len(e.header.Values(name)) > 0 ||
			slices.ContainsFunc(e.response, func(edit request.HeaderChange) bool { return edit.Name == name })
		if strings.HasPrefix(name, "Access-Control-") && !said {
			return fmt.Errorf("the answer has a header %s, simulated without", name)
		}
	}
	if a.Status == http.StatusGatewayTimeout && a.Seen.Name == "" && len(e.names) > 0 && e.mayEnd(sent) {
		return nil
	}
	if len(e.names) == 0 {
		switch {
		case e.others:
			return nil
		case a.Status != e.status || a.Seen.Name != "":
			return fmt.Errorf("it answered %d (%s), simulated %d", a.Status, a.Seen.Name, e.status)
		case a.Header.Get("Location") != e.location:
			return fmt.Errorf("location is %q, simulated %q", a.Header.Get("Location"), e.location)
		}
		for name := range e.header {
			if got, want := a.Header.Values(name), e.header.Values(name); !slices.EqualFunc(got, want, holds) {
				return fmt.Errorf("the answer's header %s is %q, simulated %q", name, got, want)
			}
		}
		return nil
	}
	if !slices.Contains(e.names, a.Seen.Name) {
		return fmt.Errorf("%q answered, simulated %v", a.Seen.Name, e.names)
	}
	if err := checkResponse(a.Header, e.response); err != nil {
		return err
	}
	if e.gated {
		return nil
	}
	return checkRequest(a.Seen, e.request, sent)
}

// fails is what a request asks of its backend: to be slow, or to answer a status, how often.
func fails(sent request.Request) (slow bool, status string, times int) {
	u, err := url.ParseRequestURI(sent.Path)
	if err != nil {
		return false, "", 0
	}
	times, err = strconv.Atoi(u.Query().Get("times"))
	if err != nil {
		times = math.MaxInt
	}
	return u.Query().Has("delay"), u.Query().Get("status"), times
}

// mayEnd tells whether the proxy may have ended a request for its time: its backend is slow, or is asked again and
// again.
func (e expectation) mayEnd(sent request.Request) bool {
	slow, status, _ := fails(sent)
	return (slow || e.again(status)) && (e.limits.Total > 0 || slow && e.limits.Attempt > 0)
}

// again tells whether a status is tried again.
func (e expectation) again(status string) bool { return slices.Contains(e.limits.On, status) }

// checkAttempts wants a backend that failed for the first times to have been asked as often as is simulated.
func (e expectation) checkAttempts(a calls.Answer, sent request.Request) error {
	slow, status, times := fails(sent)
	got, err := strconv.Atoi(a.Seen.Headers.Get("Attempt"))
	if err != nil || !slow && status == "" {
		return nil
	}
	want := 1
	if e.again(status) || slow && e.limits.Attempt > 0 && e.again("reset") {
		want += min(times, int(e.limits.Retries))
	}
	if got != want {
		return fmt.Errorf("the backend was asked %d times, simulated %d", got, want)
	}
	return nil
}

// checkResponse wants a backend's answer to look as after the edits. What the backend itself answers is in it, too.
func checkResponse(got http.Header, edits []request.HeaderChange) error {
	want := http.Header{}
	for i, e := range edits {
		e.ApplyTo(want)
		if slices.ContainsFunc(edits[i+1:], func(later request.HeaderChange) bool {
			return strings.EqualFold(later.Name, e.Name) && (later.Action == request.Set || later.Action == request.Remove)
		}) {
			continue
		}
		switch {
		case e.Action == request.Remove && len(got.Values(e.Name)) > 0 && len(want.Values(e.Name)) > 0:
			return fmt.Errorf("the answer has a header %s, simulated without", e.Name)
		case e.Action == request.Set && got.Get(e.Name) != e.Value:
			return fmt.Errorf("the answer's header %s is %q, simulated %q", e.Name, got.Get(e.Name), e.Value)
		case e.Action == request.Append && !slices.Contains(got.Values(e.Name), e.Value):
			return fmt.Errorf("the answer's header %s is %q, simulated with %q", e.Name, got.Values(e.Name), e.Value)
		}
	}
	return nil
}

// ownHeaders are those that clients and backends add by themselves.
var ownHeaders = []string{"Accept-Encoding", "User-Agent", "Content-Length", "Connection", "Upgrade", "Attempt"}

// checkRequest wants a backend to have seen what is simulated, whole.
func checkRequest(seen calls.Seen, want, sent request.Request) error {
	u, err := url.ParseRequestURI(want.Path)
	if err != nil {
		return fmt.Errorf("simulated path: %w", err)
	}
	for _, pair := range [][3]string{
		{"method", seen.Method, want.Method}, {"path", seen.Path, u.Path}, {"query", seen.Query, u.RawQuery},
		{"host", seen.Host, want.Host},
	} {
		if pair[1] != pair[2] {
			return fmt.Errorf("the backend saw %s %q, simulated %q (sent %s)", pair[0], pair[1], pair[2], sent.Path)
		}
	}
	return checkHeaders(seen.Headers, want.Header, ownHeaders...)
}

// checkHeaders compares headers that are seen with those that are simulated.
func checkHeaders(seen, simulated http.Header, except ...string) error {
	for _, name := range append(request.HeaderNames(seen), request.HeaderNames(simulated)...) {
		got, want := seen.Values(name), simulated.Values(name)
		if slices.Equal(want, []string{request.ClientCertificate}) {
			continue // or nothing
		}
		if !slices.EqualFunc(got, want, holds) && !slices.Contains(except, name) {
			return fmt.Errorf("the backend saw header %s %q, simulated %q", name, got, want)
		}
	}
	return nil
}

// holds tells whether a value is as simulated; what only Envoy knows may be anything that is no mere copy of the words.
func holds(got, simulated string) bool {
	pattern := regexp.QuoteMeta(simulated)
	for _, words := range []string{request.GeneratedID, request.ClientAddress, request.TimeOfAnswer, request.SecretValue} {
		pattern = strings.ReplaceAll(pattern, regexp.QuoteMeta(words), "[^()]+")
	}
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got)
}
