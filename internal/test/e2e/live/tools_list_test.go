package live

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// answer is what a server of tools says, whatever it is asked.
type answer struct {
	kind, coding string
	status       int
	body         string
}

// TestListsOfTools: of what a server answers to tools/list, the caller sees the tools that it may call, in every form
// that clients read. What can't be read for certain becomes an error.
func TestListsOfTools(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[answer]
	var asked atomic.Pointer[http.Header]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(new(r.Header.Clone()))
		a := now.Load()
		w.Header().Set("content-type", a.kind)
		body := []byte(a.body)
		if a.coding != "" {
			w.Header().Set("content-encoding", a.coding)
			var zipped bytes.Buffer
			z := gzip.NewWriter(&zipped)
			_, _ = z.Write(body)
			_ = z.Close()
			body = zipped.Bytes()
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	s := prepare(t, t.TempDir(), archive())
	s.ports["tools"], _ = strconv.Atoi(port)
	s.write("gateway.yaml", gatewayFile(80))
	s.toTools("shop.example", "/mcp")
	s.write("policy.yaml", toolsPolicyFile(
		toolRule("some", "", "{value: a}", `{type: Prefix, value: "b.%"}`, `{type: Wildcard, value: "*-c[é]*"}`,
			`{type: Wildcard, value: "m*mm*n*m"}`),
		"{name: red, authorization: {type: Inline, headers: [{name: team, value: red}], mcp: {methods: [{name: tools/call, "+
			"params: [{value: red}]}]}}}",
		"{name: never, action: Deny, authorization: {type: Inline, mcp: {methods: [{name: tools/call, params: "+
			"[{value: b.%no}]}]}}}"))
	s.start()
	s.Ready(t)
	ask := func(method string, headers ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.at(80)+"/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":"q\"1","method":"`+method+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "shop.example"
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Accept-Encoding": {"gzip"},
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	tool := func(names ...string) string {
		var all []string
		for _, n := range names {
			all = append(all, fmt.Sprintf(`{"description":"x \"tools\":[{}] ]}","name":"%s",`+
				`"inputSchema":{"name":"a","x":[1,{"y":"}"}]}}`, n))
		}
		return strings.Join(all, " ,\n ")
	}
	list := func(tools string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"tools":[{"name":"hidden"}]},"tools":[` + tools +
			`],"nextCursor":"z"}}`
	}
	var many []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf("b.%%%d", i), fmt.Sprintf("hidden-%d", i))
	}
	const js, sse = "application/json", "text/event-stream"
	const hidden = "error"
	oneLine := strings.ReplaceAll(tool("a", "hidden"), "\n", "")
	for about, c := range map[string]struct {
		answer
		want string // the names that are seen; hidden: an error of JSON-RPC
	}{
		"some": {answer{kind: js, body: list(tool("a", "hidden", "b.%yes", "b.%no", "x-c[é]y", "xc[é]y", "red",
			"A"))}, "a b.%yes x-c[é]y"},
		// The long name would take a search that goes back hours.
		"patterns": {answer{kind: js, body: list(tool("mmmnm", "mm-mm-n-m", "mmnm", "mmmm", "mmmnmn", "ammmnm",
			strings.Repeat("m", 100_000)))}, "mmmnm mm-mm-n-m"},
		"none":     {answer{kind: js, body: list(tool("hidden"))}, ""},
		"no tools": {answer{kind: js, body: list("")}, ""},
		"many":     {answer{kind: js, body: list(tool(many...))}, "3000"},
		"pretty": {answer{kind: js + "; charset=utf-8", body: "\n{ \"result\" :\n { \"tools\" : [\n" +
			tool("a", "hidden") + "\n] } , \"id\":1}\n"}, "a"},
		"events": {answer{kind: sse, body: "event: message\nid: 7\ndata: " + list("") +
			"\n\nevent: message\ndata:" + list(oneLine) + "\n\n"}, "a"},
		"events, CR LF": {answer{kind: sse, body: ": hi\r\n\r\nevent: message\r\ndata: " +
			strings.ReplaceAll(list(tool("a", "hidden")), "\n", "\r\ndata: ") + "\r\n\r\n"}, "a"},
		"events, a mark": {answer{kind: "Text/Event-Stream", body: "\xef\xbb\xbfdata: " + list(oneLine) + "\n\n"},
			"a"},
		"events without data":   {answer{kind: sse, body: list(tool("hidden"))}, hidden},
		"events, lines between": {answer{kind: sse, body: "hidden\ndata: " + list(oneLine) + "\n\n"}, "a"},
		"an error": {answer{kind: js, body: `{"jsonrpc":"2.0","id":1,"error":{"code":-1,` +
			`"message":"tools"}}`}, ""},
		"a name twice": {answer{kind: js, body: list(`{"name":"a"},` +
			`{"name":"hidden","name":"b.%x"}`)}, hidden},
		"an escape": {answer{kind: js, body: list(`{"name":"a"},{"name":"\u0061"}`)}, "a"},
		"result in escapes": {answer{kind: js, body: strings.Replace(list(tool("hidden")), `"result"`, `"r\u0065sult"`, 1)},
			hidden},
		"result twice":    {answer{kind: js, body: `{"result":{},"result":{"tools":[` + tool("hidden") + `]}}`}, hidden},
		"tools twice":     {answer{kind: js, body: `{"result":{"tools":[],"tools":[` + tool("hidden") + `]}}`}, hidden},
		"tools an object": {answer{kind: js, body: `{"result":{"tools":{"x":` + tool("hidden") + `}}}`}, hidden},
		"a batch":         {answer{kind: js, body: "[" + list(tool("hidden")) + "]"}, hidden},
		"two documents":   {answer{kind: js, body: list("") + list(tool("hidden"))}, hidden},
		"cut off":         {answer{kind: js, body: list(tool("hidden"))[:90]}, hidden},
		"compressed":      {answer{kind: js, coding: "gzip", body: list(tool("hidden"))}, hidden},
		"no kind":         {answer{kind: "text/plain", body: "hidden"}, hidden},
		"a failure":       {answer{kind: js, status: 500, body: list(tool("a", "hidden"))}, "a"},
	} {
		if c.status == 0 {
			c.status = 200
		}
		now.Store(&c.answer)
		status, text := ask("tools/list")
		if strings.Contains(strings.ReplaceAll(text, `"tools":[{"name":"hidden"}]`, ""), `"hidden`) {
			t.Errorf("%s: a tool is seen that may not be called: %s", about, text)
		}
		if coding := asked.Load().Get("accept-encoding"); coding != "" {
			t.Errorf("%s: the server is asked for %s", about, coding)
		}
		if c.want == hidden {
			if status != 200 || !strings.Contains(text, `"id":"q\u00221","error":{"code":-32603`) {
				t.Errorf("%s: %d %s, want an error of JSON-RPC", about, status, text)
			}
			continue
		}
		names, err := seen(text)
		got := strings.Join(names, " ")
		if len(names) > 100 {
			got = strconv.Itoa(len(names))
		}
		if err != nil || got != c.want || status != c.status {
			t.Errorf("%s: %d %q %v, want %q: %s", about, status, got, err, c.want, text)
		}
	}
	now.Store(&answer{kind: js, status: 200, body: list(tool("a", "red", "hidden"))})
	if _, text := ask("tools/list", "team", "red"); !strings.Contains(text, `"red"`) {
		t.Errorf("what HTTP says does not count: %s", text)
	}
	for scope, want := range map[string]string{
		`"ttlMs":60000,"cacheScope":"public",`: `"ttlMs":60000,"cacheScope":"private",`,
		`"cacheScope":"private","ttlMs":0,`:    `"cacheScope":"private","ttlMs":0,`,
		`"ttlMs":1,`:                           `"cacheScope":"private","ttlMs":1,`,
		``:                                     ``,
	} {
		now.Store(&answer{kind: js, status: 200,
			body: `{"jsonrpc":"2.0","id":1,"result":{` + scope + `"tools":[` + oneLine + `]}}`})
		if _, text := ask("tools/list"); !strings.Contains(text, `"result":{`+want+`"tools":[{`) {
			t.Errorf("a list that is filtered says %q of its scope: %s", scope, text)
		}
		if _, text := ask("initialize"); !strings.Contains(text, `"result":{`+scope+`"tools"`) {
			t.Errorf("another answer is changed: %s", text)
		}
	}
	now.Store(&answer{kind: js, status: 200, body: list(tool("hidden"))})
	if _, text := ask("initialize"); !strings.Contains(text, `"hidden"`) {
		t.Errorf("another answer is changed: %s", text)
	}
}

// seen are the names of tools in an answer, of all messages that a client reads.
func seen(text string) (names []string, err error) {
	messages := []string{text}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		messages = nil
		for event := range strings.SplitSeq(text, "\n\n") {
			var data []string
			for line := range strings.SplitSeq(event, "\n") {
				if part, is := strings.CutPrefix(line, "data: "); is {
					data = append(data, part)
				}
			}
			if len(data) > 0 {
				messages = append(messages, strings.Join(data, "\n"))
			}
		}
	}
	for _, m := range messages {
		var read struct {
			Result struct {
				Tools []struct{ Name string }
			}
		}
		if err := json.Unmarshal([]byte(m), &read); err != nil {
			return nil, err
		}
		for _, tool := range read.Result.Tools {
			names = append(names, tool.Name)
		}
	}
	return names, nil
}
