package epp

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/structpb"

	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"

	"cardea.dev/cardea/internal/epp/members"
	"cardea.dev/cardea/internal/epp/objectives"
	"cardea.dev/cardea/internal/epp/score"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		code = 1
	}
	os.Exit(code)
}

// loads is LoadMonitor with states that tests set.
type loads struct {
	mu     sync.Mutex
	states map[string]score.State
}

func (l *loads) SetEndpoints([]string) {}

func (l *loads) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (l *loads) StateOf(endpoint string) score.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[endpoint]
}

func (l *loads) FailedEndpoints() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := map[string]string{}
	for endpoint, s := range l.states {
		if s.Gone {
			gone[endpoint] = "gone"
		}
	}
	return gone
}

func (l *loads) DescribeTokenError() string { return "" }

func (l *loads) set(endpoint string, s score.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.states == nil {
		l.states = map[string]score.State{}
	}
	l.states[endpoint] = s
}

// never is a MemberSource that tests tell themselves.
type never struct{}

func (never) Run(ctx context.Context, _ func(members.Pool)) error { <-ctx.Done(); return nil }

// newPicker is a Picker of some endpoints whose order, among equals, is the same each time.
func newPicker(t testing.TB, load *loads, endpoints ...string) *Picker {
	t.Helper()
	cfg := Defaults()
	cfg.Pool, cfg.Members, cfg.Load = "llm", never{}, load
	cfg.random = func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pool := members.Pool{Objectives: map[string]int{"batch": -1}}
	for _, e := range endpoints {
		pool.Members = append(pool.Members, members.Member{Address: e, Name: "pod-" + e})
	}
	p.setPool(pool)
	return p
}

// request is a call of chat completions with a prompt of that many letters.
func request(letter string, n int) call {
	return call{
		path: "/v1/chat/completions", header: func(string) string { return "" },
		body: fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":%q}]}`, strings.Repeat(letter, n)),
	}
}

func idle() score.State { return score.State{Known: true} }

// TestConversation: a conversation stays where it began, while others go elsewhere; it leaves a server that is
// overloaded, and stays at the new one.
func TestConversation(t *testing.T) {
	load := &loads{}
	endpoints := []string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"}
	for _, e := range endpoints {
		load.set(e, idle())
	}
	p := newPicker(t, load, endpoints...)
	send := func(c call) string {
		t.Helper()
		d := p.decideCall(c)
		if d.refused != nil {
			t.Fatal(d.refused)
		}
		p.trackRequest(d).end()
		return d.endpoints[0]
	}
	home := send(request("a", 1000))
	for turn := range 10 {
		if got := send(request("a", 1000+100*turn)); got != home {
			t.Errorf("turn %d went to %s, want %s", turn, got, home)
		}
	}
	load.set(home, score.State{Known: true, Waiting: 6})
	away := send(request("a", 2000))
	if away == home {
		t.Error("an overloaded server got it")
	}
	load.set(home, idle())
	if got := send(request("a", 2100)); got != away {
		t.Errorf("went to %s; the end of the prompt is at %s", got, away)
	}
}

// TestInFlight: what is sent counts until it ends, and where it is served.
func TestInFlight(t *testing.T) {
	p := newPicker(t, &loads{}, "10.0.0.1:1", "10.0.0.2:1")
	d := p.decideCall(request("a", 1000))
	f := p.trackRequest(d)
	picked, other := d.endpoints[0], d.endpoints[1]
	count := func(want ...int) {
		t.Helper()
		if got := p.flights.countsOf([]string{picked, other}); !slices.Equal(got, want) {
			t.Errorf("in flight: %v, want %v", got, want)
		}
	}
	matched := func(want ...bool) {
		t.Helper()
		for i, n := range p.index.MatchServers(d.blocks, []string{picked, other}) {
			if (n > 0) != want[i] {
				t.Errorf("server %d knows %d blocks", i, n)
			}
		}
	}
	count(1, 0)
	matched(true, false)
	f.moveTo("")
	f.moveTo(picked)
	count(1, 0)
	f.moveTo(other)
	count(0, 1)
	matched(false, true)
	f.end()
	f.end()
	f.moveTo(picked)
	count(0, 0)
	(*inFlightRequest)(nil).moveTo(other)
	(*inFlightRequest)(nil).end()
}

func TestRefusals(t *testing.T) {
	full := score.State{Known: true, Waiting: 9}
	load := &loads{}
	load.set("10.0.0.1:1", full)
	p := newPicker(t, load, "10.0.0.1:1", "10.0.0.2:1")
	status := func(c call) int {
		if d := p.decideCall(c); d.refused != nil {
			return d.refused.status
		}
		return 200
	}
	with := func(name, value string) call {
		c := request("a", 100)
		c.header = func(h string) string { return map[string]string{name: value}[h] }
		return c
	}
	only := func(endpoints ...string) call {
		c := request("a", 100)
		c.allowedEndpoints, c.restricted = endpoints, true
		return c
	}
	check := func(what string, c call, want int) {
		t.Helper()
		if got := status(c); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	check("one has room", with(objectives.Header, "batch"), 200)
	check("the one that is allowed is full", func() call {
		c := with(objectives.Header, "batch")
		c.allowedEndpoints, c.restricted = []string{"10.0.0.1:1"}, true
		return c
	}(), 429)
	load.set("10.0.0.2:1", full)
	check("all are full, sheddable by its objective", with(objectives.Header, "batch"), 429)
	check("sheddable by its number", with(objectives.NumberHeader, "-1"), 429)
	check("not sheddable", request("a", 100), 200)
	check("an allowed one", only("10.0.0.2:1"), 200)
	check("one that is not in the pool", only("10.9.9.9:1"), 503)
	check("none is allowed", only(), 503)
	p.setPool(members.Pool{})
	check("an empty pool", request("a", 100), 503)
	p.pool.Store(nil)
	check("not known yet", request("a", 100), 503)
}

// TestBlockSize: the servers' own block size counts, unless one is configured.
func TestBlockSize(t *testing.T) {
	p := newPicker(t, &loads{})
	sizes := func(sizes ...int) (states []score.State) {
		for _, n := range sizes {
			states = append(states, score.State{Known: true, BlockBytes: n})
		}
		return states
	}
	for _, c := range []struct{ got, want int }{
		{p.blockSize(nil), 64},
		{p.blockSize(sizes(0, 128, 256)), 128},
		{p.blockSize(sizes(4)), 64},
	} {
		if c.got != c.want {
			t.Errorf("%d, want %d", c.got, c.want)
		}
	}
	p.cfg.BlockSize = 32
	if got := p.blockSize(sizes(128)); got != 32 {
		t.Errorf("%d, want 32", got)
	}
}

// TestModes: when each mode is answered, and with what. Real gateways are in envoy_test.go.
func TestModes(t *testing.T) {
	body := []string{`{"model":"m","prompt":"aa`, `bb","n":`, `1}`}
	for name, c := range map[string]struct {
		mode filter.ProcessingMode_BodySendMode
		want string
	}{
		"full duplex":      {filter.ProcessingMode_FULL_DUPLEX_STREAMED, "- - - H!+B+B+B. h b."},
		"buffered":         {filter.ProcessingMode_BUFFERED, "H B! h b"},
		"buffered partial": {filter.ProcessingMode_BUFFERED_PARTIAL, "H B! h b"},
		"none":             {filter.ProcessingMode_NONE, "H! h"},
		"streamed":         {filter.ProcessingMode_STREAMED, "H! B B B h b"},
	} {
		p := newPicker(t, &loads{}, "10.0.0.1:1")
		s := &stream{p: p, request: duplex, response: duplex}
		var got []string
		take := func(m *extproc.ProcessingRequest) {
			answers, err := s.handleMessage(m)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got = append(got, shown(answers))
		}
		take(&extproc.ProcessingRequest{
			ProtocolConfig: &extproc.ProtocolConfiguration{RequestBodyMode: c.mode, ResponseBodyMode: c.mode},
			Request: &extproc.ProcessingRequest_RequestHeaders{RequestHeaders: &extproc.HttpHeaders{
				Headers: &core.HeaderMap{Headers: []*core.HeaderValue{{Key: ":path", Value: "/v1/completions"}}},
			}},
		})
		chunks := body
		switch c.mode {
		case filter.ProcessingMode_BUFFERED, filter.ProcessingMode_BUFFERED_PARTIAL:
			chunks = []string{strings.Join(body, "")}
		case filter.ProcessingMode_NONE:
			chunks = nil
		}
		for i, b := range chunks {
			take(&extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestBody{
				RequestBody: &extproc.HttpBody{Body: []byte(b), EndOfStream: i == len(chunks)-1},
			}})
		}
		take(&extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_ResponseHeaders{
			ResponseHeaders: &extproc.HttpHeaders{},
		}})
		if p.flights.totalCount() != 1 {
			t.Errorf("%s: %d in flight", name, p.flights.totalCount())
		}
		if c.mode != filter.ProcessingMode_NONE {
			take(&extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_ResponseBody{
				ResponseBody: &extproc.HttpBody{EndOfStream: true},
			}})
			if p.flights.totalCount() != 0 {
				t.Errorf("%s: %d in flight at the end", name, p.flights.totalCount())
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// shown abbreviates answers: H headers, B body, h and b those of the response, T trailers; ! has the pick, in the
// header and in the metadata; "." ends the body; "-" is no answer.
func shown(answers []*extproc.ProcessingResponse) string {
	var texts []string
	for _, a := range answers {
		text := ""
		var c *extproc.CommonResponse
		switch r := a.GetResponse().(type) {
		case *extproc.ProcessingResponse_RequestHeaders:
			text, c = "H", r.RequestHeaders.GetResponse()
		case *extproc.ProcessingResponse_RequestBody:
			text, c = "B", r.RequestBody.GetResponse()
		case *extproc.ProcessingResponse_ResponseHeaders:
			text, c = "h", r.ResponseHeaders.GetResponse()
		case *extproc.ProcessingResponse_ResponseBody:
			text, c = "b", r.ResponseBody.GetResponse()
		case *extproc.ProcessingResponse_RequestTrailers:
			text = "T"
		}
		lb := a.GetDynamicMetadata().GetFields()[namespace].GetStructValue()
		meta := lb.GetFields()[destinationKey].GetStringValue()
		for _, h := range c.GetHeaderMutation().GetSetHeaders() {
			if h.GetHeader().GetKey() == destinationKey && string(h.GetHeader().GetRawValue()) == meta {
				text += "!"
			}
		}
		if c.GetBodyMutation().GetStreamedResponse().GetEndOfStream() {
			text += "."
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "-"
	}
	return strings.Join(texts, "+")
}

// TestTrailers: a body that trailers end is released by them.
func TestTrailers(t *testing.T) {
	p := newPicker(t, &loads{}, "10.0.0.1:1")
	s := &stream{p: p, request: duplex, response: duplex}
	var got []string
	for _, m := range []*extproc.ProcessingRequest{
		{Request: &extproc.ProcessingRequest_RequestHeaders{RequestHeaders: head(":path", "/v1/completions")}},
		{Request: &extproc.ProcessingRequest_RequestBody{RequestBody: &extproc.HttpBody{Body: []byte("a")}}},
		{Request: &extproc.ProcessingRequest_RequestTrailers{RequestTrailers: &extproc.HttpTrailers{}}},
	} {
		answers, err := s.handleMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, shown(answers))
	}
	if text := strings.Join(got, " "); text != "- - H!+B+T" {
		t.Error(text)
	}
}

// head is headers of a request with a body, by name and value.
func head(pairs ...string) *extproc.HttpHeaders {
	m := &core.HeaderMap{}
	for i := 0; i < len(pairs); i += 2 {
		m.Headers = append(m.Headers, &core.HeaderValue{Key: pairs[i], Value: pairs[i+1]})
	}
	return &extproc.HttpHeaders{Headers: m}
}

// TestHeads: what has no body of use is picked by its head, and where a gateway buffers, it is told not to. A body that
// is read is waited for.
func TestHeads(t *testing.T) {
	const path, buffered = "/v1/completions", filter.ProcessingMode_BUFFERED_PARTIAL
	for name, c := range map[string]struct {
		mode     filter.ProcessingMode_BodySendMode
		head     *extproc.HttpHeaders
		want     string
		override bool
	}{
		"a WebSocket":           {duplex, head(":path", path, "upgrade", "websocket"), "H!", false},
		"a WebSocket, buffered": {buffered, head(":path", path, "upgrade", "websocket"), "H!", true},
		"a tunnel":              {buffered, head(":path", path, ":method", "CONNECT"), "H!", true},
		"a gRPC stream":         {buffered, head(":path", "/llm.Models/Chat", ":method", "POST"), "H!", true},
		"a prompt":              {duplex, head(":path", path, ":method", "POST"), "-", false},
		"a prompt, buffered":    {buffered, head(":path", path, ":method", "POST"), "H", false},
	} {
		s := &stream{p: newPicker(t, &loads{}, "10.0.0.1:1"), request: c.mode, response: c.mode}
		answers, err := s.handleMessage(&extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestHeaders{
			RequestHeaders: c.head,
		}})
		override := len(answers) > 0 && answers[0].GetModeOverride() != nil
		if got := shown(answers); err != nil || got != c.want || override != c.override {
			t.Errorf("%s: %s, overridden %v, %v", name, got, override, err)
		}
	}
}

// TestBodyLimit: no more of a body than the limit is held.
func TestBodyLimit(t *testing.T) {
	p := newPicker(t, &loads{}, "10.0.0.1:1")
	p.cfg.BodyLimit = 10
	s := &stream{p: p, request: duplex, response: duplex}
	var got []string
	take := func(m *extproc.ProcessingRequest) {
		answers, err := s.handleMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, shown(answers))
	}
	take(&extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestHeaders{
		RequestHeaders: head(":path", "/v1/completions"),
	}})
	for _, b := range []string{"12345", "67890", "more", "end"} {
		take(&extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestBody{
			RequestBody: &extproc.HttpBody{Body: []byte(b), EndOfStream: b == "end"},
		}})
	}
	if text := strings.Join(got, " "); text != "- - H!+B+B B B." {
		t.Error(text)
	}
}

func TestSubset(t *testing.T) {
	text := structpb.NewStringValue("10.0.0.1:1, 10.0.0.2:1")
	list := structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("10.0.0.1:1")}})
	for name, c := range map[string]struct {
		value *structpb.Value
		want  []string
		found bool
	}{
		"a list": {list, []string{"10.0.0.1:1"}, true},
		"a text": {text, []string{"10.0.0.1:1", "10.0.0.2:1"}, true},
		"empty":  {structpb.NewListValue(&structpb.ListValue{}), nil, true},
		"none":   {nil, nil, false},
	} {
		got, found := allowedSubset(&core.Metadata{FilterMetadata: map[string]*structpb.Struct{
			subsetNamespace: {Fields: map[string]*structpb.Value{subsetKey: c.value}},
		}})
		if !slices.Equal(got, c.want) || found != c.found {
			t.Errorf("%s: %v, %v", name, got, found)
		}
	}
}

// TestChunks: a large body goes back in chunks of a size that every gateway takes, whole, and the last one says whether
// more follows.
func TestChunks(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789"), 20_000)
	for _, end := range []bool{true, false} {
		var whole []byte
		list := chunksOf(body, end)
		for i, c := range list {
			if len(c.GetBody()) > 64<<10 || c.GetEndOfStream() != (end && i == len(list)-1) {
				t.Errorf("chunk %d of %d: %d bytes, end %v", i+1, len(list), len(c.GetBody()), c.GetEndOfStream())
			}
			whole = append(whole, c.GetBody()...)
		}
		if !bytes.Equal(whole, body) {
			t.Errorf("%d bytes, want %d", len(whole), len(body))
		}
	}
}
