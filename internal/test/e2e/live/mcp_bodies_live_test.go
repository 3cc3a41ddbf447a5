package live

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	usualBodies = 10_000
	senders     = 4
	// oneAnswer is how long an answer may take. It is a bound for what hangs.
	oneAnswer = 30 * time.Second
	// caseHeader tells the recorder which request arrives.
	caseHeader = "x-case"
)

// TestMutatedBodies: requests whose bodies are changed at random reach a real server only if no server could take them
// for a call of a tool that is not allowed. Between the proxy and the server is a recorder, which reads them so. The
// requests depend on a seed alone; `make fuzz` makes more of them, of another seed.
func TestMutatedBodies(t *testing.T) {
	t.Parallel()
	n, first := numberFrom(t, "CARDEA_FUZZ_BODIES", usualBodies), numberFrom(t, "CARDEA_FUZZ_SEED", 1)
	t.Logf("%d bodies from CARDEA_FUZZ_SEED=%d", n, first)
	recorder, dial := recorded(t)
	server := recorder.server
	var did counts
	var group errgroup.Group
	for i := range uint64(senders) {
		group.Go(func() error {
			gateway := &sender{path: "/mcp", dial: dial}
			direct := &sender{path: "/", dial: func() (net.Conn, error) { return net.DialTimeout("tcp", server, oneAnswer) }}
			defer gateway.close()
			defer direct.close()
			if err := errors.Join(gateway.begin(), direct.begin()); err != nil {
				return err
			}
			for seed := first + i; seed < first+n; seed += senders {
				if err := did.try(gateway, direct, mutate(seed)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	for _, line := range recorder.wrong {
		t.Error(line)
	}
	t.Logf("%d requests arrived at the server, %d sums were answered; asked directly, the server ran the forbidden tool "+
		"for %d of %d", recorder.arrived.Load(), did.sums.Load(), did.harmful.Load(), did.direct.Load())
	if n < 1000 {
		return
	}
	for what, share := range map[string]float64{
		"arrive": float64(recorder.arrived.Load()) / float64(n), "are sums": float64(did.sums.Load()) / float64(n),
		"do harm": float64(did.harmful.Load()) / float64(did.direct.Load()),
	} {
		if share < 0.02 {
			t.Errorf("a share of %.3f of the requests %s: they say little", share, what)
		}
	}
}

// recorded is a stage with a recorder before its server. An agent, who may call get-sum, dials its gateway.
func recorded(t *testing.T) (r *recorder, dial func() (net.Conn, error)) {
	t.Helper()
	a := prepareAgents(t, goServer(t))
	server := fmt.Sprintf("127.0.0.1:%d", a.ports["tools"])
	r = recordBefore(t, server)
	a.ports["tools"] = r.port
	a.write("tools.yaml", serviceFile("tools", "tools"))
	a.certificate("agent", "spiffe://cluster.local/ns/shop/sa/agent")
	a.write("policy.yaml", toolsPolicyFile(toolRule("sums", account("agent"), "{value: get-sum}")))
	a.start()
	a.Ready(t)
	config := a.clientTLS("agent")
	return r, func() (net.Conn, error) {
		return tls.DialWithDialer(&net.Dialer{Timeout: oneAnswer}, "tcp", a.at(443), config)
	}
}

// TestRepliesWithMethods: a message with a result passes as an answer only if it has nothing of a request. What is not
// JSON to the letter does not pass at all: some servers would read other names in it.
func TestRepliesWithMethods(t *testing.T) {
	t.Parallel()
	recorder, dial := recorded(t)
	gateway := &sender{path: "/mcp", dial: dial}
	defer gateway.close()
	if err := gateway.begin(); err != nil {
		t.Fatal(err)
	}
	long := `"tools/call` + strings.Repeat(" ", 9000) + `"`
	for i, c := range []struct {
		members string
		arrives int64
	}{
		{`"result":{}`, 1},
		{`"error":{"code":1,"message":"x"}`, 1},
		{`"result":{"method":"tools/call","params":{"name":"get-env"}}`, 1},
		{`"result":{},"params":{"name":"get-env"}`, 0},
		{`"result":{},"method":"tools/call"`, 0},
		{`"method":"tools/call","params":{"name":"get-env"},"result":{}`, 0},
		{`"result":{},"m\u0065thod":"tools/call"`, 0},
		{`"result":{},"Method":"tools/call"`, 0},
		{`"result":{},"method":` + long, 0},
		{`"result":{},"method":["tools/call"]`, 0},
		{`"result":{},"method":7`, 0},
		{`"result":{},"method":null`, 0},
		{`"result":{},"method":"ping","method":["tools/call"]`, 0},
		{`"method":["x"],"result":{},"method":"tools/call"`, 0},
		{`"method":"tools/call","params":{"name":"get-env"},"method":["x"],"error":{"code":1,"message":"x"}`, 0},
		{`"method":"tools/call","params":{"name":"get-sum","a":'x,"y":"z','Name':'get-env','b':'","c":1'}`, 0},
		{`"method":"tools/call","params":{"name":"get-sum","q":'x,"y":"z'},'Params':{'name':'get-env','a':'","c":1'}`, 0},
		{`"method":"tools/call","params":{"name":"get-env","q":'x,"y":"z'},'result':{'a':'","c":1'}`, 0},
		{`"method":"tools/call","params":{"name":"get-sum","\x6eame":"get-env","arguments":{}}`, 0},
		{`"method":"tools/call","params":{"name":"get-sum","name\u0000":"get-env","arguments":{}}`, 0},
		{`"method":"tools/call","params":{"name":"get-sum","arguments":{"a":1,"A":2}}`, 0},
		{`"method":"tools/call","params":{"name":"get-sum","arguments":{"a":1,"b":2},"_meta":{"k":1,"K":2}}`, 1},
	} {
		before := recorder.arrived.Load()
		status, text, err := gateway.send(mutated{seed: uint64(i + 1), method: "POST", header: []string{
			"content-type: application/json", "accept: application/json, text/event-stream",
		}, body: []byte(`{"jsonrpc":"2.0","id":7,` + c.members + `}`)})
		if got := recorder.arrived.Load() - before; err != nil || got != c.arrives {
			t.Errorf("%.60s: %d arrive, want %d: %d %.200s %v", c.members, got, c.arrives, status, text, err)
		}
	}
}

// numberFrom is a number of the environment.
func numberFrom(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// clientTLS is what a caller with a certificate connects with.
func (a *agents) clientTLS(name string) *tls.Config {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.ca.Certificate)
	return &tls.Config{RootCAs: roots, ServerName: "tools.example", Certificates: []tls.Certificate{pair}}
}

// counts is what became of requests.
type counts struct{ sums, direct, harmful atomic.Int64 }

// try sends a request through the gateway, and one of twenty to the server itself, too.
func (c *counts) try(gateway, direct *sender, r mutated) error {
	status, text, err := gateway.send(r)
	switch {
	case err != nil:
		return fmt.Errorf("CARDEA_FUZZ_SEED=%d: %w: %s", r.seed, err, r)
	case strings.Contains(text, "secret"), strings.Contains(text, "ordered"):
		return fmt.Errorf("CARDEA_FUZZ_SEED=%d: a forbidden tool was run: %d %s: %s", r.seed, status, text, r)
	case strings.Contains(text, `"text":"3"`):
		c.sums.Add(1)
	}
	if r.seed%20 != 0 || r.alone {
		return nil
	}
	if _, text, err = direct.send(r); err != nil {
		return fmt.Errorf("CARDEA_FUZZ_SEED=%d: the server itself: %w: %s", r.seed, err, r)
	}
	if c.direct.Add(1); strings.Contains(text, "secret") {
		c.harmful.Add(1)
	}
	return nil
}

func (r mutated) String() string {
	return fmt.Sprintf("%s %q %.2000q", r.method, r.header, r.body)
}

// recorder passes what it gets to the server, and judges it.
type recorder struct {
	server  string // what it is before
	port    int
	arrived atomic.Int64
	mu      sync.Mutex
	wrong   []string
}

// recordBefore starts one in front of a server.
func recordBefore(t *testing.T, server string) *recorder {
	r := &recorder{server: server}
	transport := &http.Transport{
		ResponseHeaderTimeout: oneAnswer, DisableCompression: true, MaxIdleConnsPerHost: 2 * senders,
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: server}) },
		Transport: transport, FlushInterval: -1,
	}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if q.Header.Get(caseHeader) != "" {
			r.judge(q, body)
		}
		q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
		transport.CloseIdleConnections()
	})
	r.port = listening.Listener.Addr().(*net.TCPAddr).Port
	return r
}

// inUTF8 are content types of which every server reads the same text.
var inUTF8 = regexp.MustCompile(`(?i)^application/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$`)

func (r *recorder) judge(q *http.Request, body []byte) {
	r.arrived.Add(1)
	why := beyond(body)
	switch {
	case why != "":
	case q.Method != http.MethodPost:
		why = "its method is " + q.Method
	case !inUTF8.MatchString(q.Header.Get("content-type")) || len(q.Header["Content-Type"]) > 1:
		why = "its content type is another"
	case len(q.Header["Content-Encoding"]) > 0:
		why = "it has an encoding, so that it may be read in another way"
	}
	if why == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrong) < 20 {
		r.wrong = append(r.wrong, fmt.Sprintf("CARDEA_FUZZ_SEED=%s: it reached the server, but %s: %v %.2000q",
			q.Header.Get(caseHeader), why, q.Header, body))
	}
}

// sender sends requests over a connection that is kept as long as the other side keeps it.
type sender struct {
	path    string
	session string
	dial    func() (net.Conn, error)
	conn    net.Conn
	reader  *bufio.Reader
}

func (s *sender) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	s.conn = nil
}

// begin makes a session.
func (s *sender) begin() error {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"raw","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	} {
		status, text, err := s.send(mutated{method: "POST", body: []byte(body), header: []string{
			"content-type: application/json", "accept: application/json, text/event-stream",
		}})
		if err != nil || status >= 300 || status == 0 || s.session == "" {
			return fmt.Errorf("no session: %d %s: %w", status, text, err)
		}
	}
	return nil
}

// send sends a request. Its status is 0 if the other side ends the connection. It is an error if nothing comes in time.
func (s *sender) send(r mutated) (status int, text string, err error) {
	if s.conn == nil {
		if s.conn, err = s.dial(); err != nil {
			return 0, "", err
		}
		s.reader = bufio.NewReader(s.conn)
	}
	more := []string{}
	if r.seed > 0 {
		more = append(more, fmt.Sprintf("%s: %d", caseHeader, r.seed))
	}
	if s.session != "" {
		more = append(more, "mcp-session-id: "+s.session, "mcp-protocol-version: 2025-06-18")
	}
	_ = s.conn.SetDeadline(time.Now().Add(oneAnswer))
	for _, piece := range r.written(s.path, "tools.example", more...) {
		if _, err := s.conn.Write(piece); err != nil {
			break // the other side has answered already, or ended the connection
		}
	}
	response, text, err := s.answer()
	if err != nil || r.alone || response.Close {
		s.close()
	}
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		return 0, "", err
	}
	if err != nil {
		return 0, text, nil
	}
	if id := response.Header.Get("mcp-session-id"); id != "" && s.session == "" {
		s.session = id
	}
	return response.StatusCode, text, nil
}

// answer reads the next one but 100.
func (s *sender) answer() (response *http.Response, text string, err error) {
	for {
		if response, err = http.ReadResponse(s.reader, nil); err != nil {
			return nil, "", err
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode >= 200 {
			return response, string(body), err
		}
	}
}
