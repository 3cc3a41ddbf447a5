package live

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"cardea.dev/cardea/internal/test/e2e"
)

// attack is a request that asks for a forbidden tool in a way that a parser may read otherwise than a server.
type attack struct {
	name   string
	header map[string]string // in place of what clients send
	body   []byte
	// executed: the servers that run the tool if they are asked directly.
	executed servers
}

// servers are some of the real ones.
type servers uint8

const (
	byGo servers = 1 << iota
	byTypeScript
	byBoth = byGo | byTypeScript
)

// forbidden is a plain call of the forbidden tool, and allowed one of the other.
const (
	forbidden = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get-env","arguments":{}}}`
	allowed   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get-sum","arguments":{"a":1,"b":2}}}`
)

func attacks() []attack {
	call := func(params string) []byte {
		return []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`)
	}
	padding := strings.Repeat(" ", 9000)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(forbidden))
	_ = z.Close()
	var wide []byte
	for _, c := range utf16.Encode([]rune(forbidden)) {
		wide = append(wide, byte(c>>8), byte(c))
	}
	deep := strings.Repeat(`{"x":`, 400) + "1" + strings.Repeat("}", 400)
	return []attack{
		{name: "plain", body: []byte(forbidden), executed: byBoth},
		{name: "content type in other letters", header: map[string]string{"content-type": "Application/JSON"},
			body: []byte(forbidden), executed: byBoth},
		{name: "content type with a charset", header: map[string]string{"content-type": "application/json; charset=utf-8"},
			body: []byte(forbidden), executed: byBoth},
		{name: "content type of text", header: map[string]string{"content-type": "text/plain"}, body: []byte(forbidden)},
		{name: "no content type", header: map[string]string{"content-type": ""}, body: []byte(forbidden)},
		{name: "accepts families", header: map[string]string{"accept": "application/*, text/*"}, body: []byte(forbidden),
			executed: byGo},
		{name: "accepts all", header: map[string]string{"accept": "*/*"}, body: []byte(forbidden), executed: byGo},
		{name: "a name in a header", header: map[string]string{"mcp-name": "get-sum", "mcp-method": "tools/call"},
			body: []byte(forbidden), executed: byBoth},
		{name: "batch", body: []byte("[" + forbidden + "]"), executed: byTypeScript},
		{name: "batch of both", body: []byte("[" + strings.Replace(allowed, `"id":7`, `"id":8`, 1) + "," + forbidden + "]"),
			executed: byTypeScript},
		{name: "byte order mark", body: []byte("\xef\xbb\xbf" + forbidden), executed: byTypeScript},
		{name: "padding before the method", body: []byte(`{` + padding + forbidden[1:]), executed: byBoth},
		{name: "padding before the name", body: call(`{` + padding + `"name":"get-env","arguments":{}}`), executed: byBoth},
		{name: "padding in _meta", body: call(`{"_meta":{"x":"` + padding + `"},"name":"get-env","arguments":{}}`),
			executed: byBoth},
		{name: "allowed, padding, forbidden", body: call(`{"name":"get-sum",` + padding + `"name":"get-env","arguments":{}}`),
			executed: byBoth},
		{name: "names twice, forbidden first", body: call(`{"name":"get-env","name":"get-sum","arguments":{}}`)},
		{name: "methods twice", body: []byte(`{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call","params":` +
			`{"name":"get-env","arguments":{}}}`), executed: byBoth},
		{name: "params twice", body: []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get-sum"},` +
			`"params":{"name":"get-env","arguments":{}}}`), executed: byBoth},
		{name: "two documents, allowed first", body: []byte(allowed + forbidden)},
		{name: "two documents, forbidden first", body: []byte(forbidden + "\n" + allowed), executed: byGo},
		{name: "an answer with a method", body: []byte(forbidden[:len(forbidden)-1] + `,"result":{}}`), executed: byGo},
		{name: "an error with a method", body: []byte(forbidden[:len(forbidden)-1] + `,"error":{"code":1,"message":"x"}}`),
			executed: byGo},
		{name: "only a name in other letters", body: call(`{"Name":"get-env","arguments":{}}`)},
		{name: "a name in other letters, too",
			body: call(`{"name":"get-sum","Name":"get-env","arguments":{}}`)},
		{name: "a method in other letters, too", body: []byte(`{"jsonrpc":"2.0","id":7,"method":"ping",` +
			`"Method":"tools/call","params":{"name":"get-env","arguments":{}}}`)},
		{name: "params in other letters, too", body: []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call",` +
			`"params":{"name":"get-sum","arguments":{}},"Params":{"name":"get-env","arguments":{}}}`)},
		{name: "params with a long s", body: []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call",` +
			`"param\u017f":{"name":"get-env","arguments":{}}}`)},
		{name: "a list beside the name", body: call(`{"name":["get-env"],"name":"get-sum","arguments":{}}`)},
		{name: "quotes of another kind hide a name",
			body: call(`{"name":"get-sum","a":'x,"y":"z','Name':'get-env','b':'","c":1'}`)},
		{name: "quotes of another kind hide params", body: call(`{"name":"get-sum","q":'x,"y":"z'},` +
			`'Params':{'name':'get-env','a':'","c":1'}`)},
		{name: "quotes of another kind hide a result",
			body: call(`{"name":"get-env","q":'x,"y":"z'},'result':{'a':'","c":1'}`)},
		{name: "an escape that JSON does not have", body: call(`{"name":"get-sum","\x6eame":"get-env","arguments":{}}`)},
		{name: "an escape of NUL", body: call(`{"name":"get-sum","name\u0000":"get-env","arguments":{}}`)},
		{name: "a NUL", body: call("{\"name\":\"get-env\x00x\",\"arguments\":{}}")},
		{name: "UTF-7, the method", header: map[string]string{"content-type": "application/json; charset=utf-7"},
			body: []byte(`{"jsonrpc":"2.0","id":7,"method":"ping","+AG0-ethod":"tools/call","params":{"name":"get-env",` +
				`"arguments":{}}}`)},
		{name: "UTF-7, the name", header: map[string]string{"content-type": "application/json;charset=UTF-7"},
			body: call(`{"name":"get-sum","+AG4-ame":"get-env","arguments":{}}`)},
		{name: "the name an object", body: call(`{"name":{"x":"get-env"},"arguments":{}}`)},
		{name: "the name a list", body: call(`{"name":["get-env"],"arguments":{}}`)},
		{name: "params a list", body: call(`["get-env"]`)},
		{name: "a NUL in the name", body: call(`{"name":"get-env\u0000","arguments":{}}`)},
		{name: "escapes", body: []byte(`{"jsonrpc":"2.0","id":7,"method":"tools\/call","params":{"name":"get\u002denv",` +
			`"arguments":{}}}`), executed: byBoth},
		{name: "compressed", header: map[string]string{"content-encoding": "gzip"}, body: zipped.Bytes()},
		{name: "compressed, and not said", body: zipped.Bytes()},
		{name: "UTF-16", header: map[string]string{"content-type": "application/json; charset=utf-16"}, body: wide},
		{name: "cut off", body: []byte(forbidden[:len(forbidden)-2])},
		{name: "something behind", body: []byte(forbidden + "x"), executed: byGo},
		{name: "no version", body: []byte(strings.Replace(forbidden, `"jsonrpc":"2.0",`, "", 1))},
		{name: "deep", body: call(`{"_meta":` + deep + `,"name":"get-env","arguments":{}}`), executed: byBoth},
		{name: "2 MiB", body: call(`{"_meta":{"x":"` + strings.Repeat("x", 2<<20) + `"},"name":"get-env","arguments":{}}`),
			executed: byBoth},
		{name: "not UTF-8", body: call("{\"_meta\":{\"x\":\"\xff\xfe\"},\"name\":\"get-env\",\"arguments\":{}}"),
			executed: byBoth},
		{name: "a comment", body: []byte(`/* */` + forbidden)},
		{name: "a comma behind", body: call(`{"name":"get-env","arguments":{},}`)},
	}
}

// TestBypasses: whatever a real server would take for a call of a forbidden tool does not reach it. What is allowed in
// an unusual form does.
func TestBypasses(t *testing.T) {
	t.Parallel()
	for mark, server := range map[servers]func(testing.TB) toolServer{byGo: goServer, byTypeScript: typeScriptServer} {
		t.Run(map[servers]string{byGo: "Go", byTypeScript: "TypeScript"}[mark], func(t *testing.T) {
			t.Parallel()
			bypasses(t, server(t), mark)
		})
	}
}

// bypasses sends all forms through the gateway to a server, and to the server itself.
func bypasses(t *testing.T, tools toolServer, mark servers) {
	a := prepareAgents(t, tools)
	a.certificate("agent", "spiffe://cluster.local/ns/shop/sa/agent")
	a.write("policy.yaml", toolsPolicyFile(toolRule("sums", account("agent"), "{value: get-sum}")))
	a.start()
	a.Ready(t)
	pair, err := tls.LoadX509KeyPair(filepath.Join(a.dir, "agent.crt"), filepath.Join(a.dir, "agent.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.ca.Certificate)
	gateway := newRaw(t, "https://"+a.at(443)+"/mcp", &tls.Config{
		RootCAs: roots, ServerName: "tools.example", Certificates: []tls.Certificate{pair},
	})
	server := newRaw(t, fmt.Sprintf("http://127.0.0.1:%d%s", a.ports["tools"], tools.path), nil)
	for _, c := range attacks() {
		if status, text := gateway.post(c.header, c.body); strings.Contains(text, "secret") {
			t.Errorf("%s: the tool was run: %d %s", c.name, status, text)
		} else if status == http.StatusOK && !strings.Contains(text, `"error"`) {
			t.Errorf("%s: %d %s, want that it is refused", c.name, status, text)
		}
		executed := c.executed&mark != 0
		if _, text := server.post(c.header, c.body); strings.Contains(text, "secret") != executed {
			t.Errorf("%s: the server itself runs it: %v, want %v: %.200s", c.name, !executed, executed, text)
		}
	}
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gateway.url, strings.NewReader(forbidden))
	if err != nil {
		t.Fatal(err)
	}
	get.Host, get.Header = gateway.host, http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {gateway.session}}
	if response, err := gateway.client.Do(get); err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("GET with a body: %v %v, want 400", response, err)
	} else {
		_ = response.Body.Close()
	}
	meta := func(text string) string { return strings.Replace(allowed, `"name"`, `"_meta":{`+text+`},"name"`, 1) }
	for name, body := range map[string]string{
		"plain": allowed, "a space before": " \n" + allowed,
		"a megabyte":                           meta(`"x":"` + strings.Repeat("x", 1_000_000) + `"`),
		"names of params elsewhere":            meta(`"Name":"x","list":[{"a":1},{"a":2}],"A":-1.5e+3,"a":null`),
		"names of other letters, with escapes": meta(`"\u540d":1,"\ud83d\ude00":1,"\ud83d\ude01":1,"a\"":2,"a":1`),
	} {
		if status, text := gateway.post(nil, []byte(body)); status != http.StatusOK ||
			!strings.Contains(text, `"text":"`+tools.sum+`"`) {
			t.Errorf("%s: %d %.300s, want that it is allowed", name, status, text)
		}
	}
}

// raw sends bytes to a server of MCP, in one session.
type raw struct {
	t         *testing.T
	url, host string
	client    *http.Client
	session   string
}

// newRaw begins a session.
func newRaw(t *testing.T, url string, config *tls.Config) *raw {
	t.Helper()
	transport := &http.Transport{DisableCompression: true, TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	r := &raw{t: t, url: url, host: "tools.example", client: &http.Client{Transport: transport, Timeout: e2e.WaitTimeout}}
	r.begin()
	return r
}

func (r *raw) begin() {
	r.t.Helper()
	params, _ := json.Marshal(map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "raw", "version": "1"},
	})
	status, text := r.post(nil, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":%s}`, params))
	if status != http.StatusOK || r.session == "" {
		r.t.Fatalf("%s: no session: %d %s", r.url, status, text)
	}
	if status, text := r.post(nil, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); status >= 300 {
		r.t.Fatalf("%s: no session: %d %s", r.url, status, text)
	}
}

// post sends a body; headers replace what a client would send, and an empty one takes it out.
func (r *raw) post(headers map[string]string, body []byte) (status int, text string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Host = r.host
	request.Header.Set("content-type", "application/json")
	request.Header.Set("accept", "application/json, text/event-stream")
	if r.session != "" {
		request.Header.Set("mcp-session-id", r.session)
		request.Header.Set("mcp-protocol-version", "2025-06-18")
	}
	for name, value := range headers {
		if request.Header.Del(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := r.client.Do(request)
	if err != nil {
		if _, is := err.(net.Error); is {
			return 0, err.Error() // the proxy may end the connection while the body is sent
		}
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	if id := response.Header.Get("mcp-session-id"); id != "" {
		r.session = id
	}
	read, err := io.ReadAll(response.Body)
	if err != nil {
		return response.StatusCode, err.Error()
	}
	return response.StatusCode, string(read)
}
