package live

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"cardea.dev/cardea/examples/inference/simulator"
	"cardea.dev/cardea/internal/app/standalone"
)

// modelStage has model servers behind it: the simulator at models.example, and odd.example, whose answers are given.
type modelStage struct {
	*stage
	log string // the access log
}

// openModels asks for a login (ann, ben), and states some fields of a TrafficPolicy for both servers.
func openModels(t *testing.T, odd http.Handler, fields string) *modelStage {
	t.Helper()
	set := simulator.Defaults()
	set.Name, set.Model, set.Prefill, set.Decode, set.Tokens = "sim", "org/sim-7b", 0, time.Millisecond, 4
	s := &modelStage{prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80))), filepath.Join(t.TempDir(), "log")}
	for name, handler := range map[string]http.Handler{"models": simulator.New(set).Handler(), "odd": odd} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		s.write(name+".yaml", serviceOn(name, server.Listener.Addr().(*net.TCPAddr).Port)+"---\n"+
			routeFile(name, name+".example", to(name)))
	}
	s.write("users.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: users, namespace: shop}\n"+
		"stringData: {.htpasswd: \"ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\\nben:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\"}\n")
	for kind, fields := range map[string]string{"SecurityPolicy": "basicAuth: {usersRef: {name: users}}",
		"TrafficPolicy": fields} {
		s.write(kind+".yaml", fmt.Sprintf("apiVersion: cardea.dev/v1alpha1\nkind: %s\n"+
			"metadata: {name: models, namespace: shop}\nspec:\n"+
			"  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]\n  %s\n", kind, fields))
	}
	s.start(func(o *standalone.Options) { o.AccessLog = s.log })
	s.Ready(t)
	return s
}

// post asks as a user, and returns the answer before its body is read.
func (s *modelStage) post(user, host, path, body string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost,
		"http://"+net.JoinHostPort(s.Address, strconv.Itoa(80+e2e.Offset))+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Host = host
	r.SetBasicAuth(user, "password")
	r.Header.Set("Accept-Encoding", "identity") // so that nothing is decompressed here
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// whole asks, and returns the answer's body.
func (s *modelStage) whole(user, host, path, body string) []byte {
	s.t.Helper()
	answer := s.post(user, host, path, body)
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: status %d, %v", host, path, answer.StatusCode, err)
	}
	return text
}

// has waits until the metrics of the proxy have lines, and none that begins otherwise with the same metric.
func (s *modelStage) has(lines ...string) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error {
		text, err := s.Get("/proxies/shop/web/metrics")
		if err != nil {
			return err
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		if _, err := parser.TextToMetricFamilies(bytes.NewReader(text)); err != nil {
			return fmt.Errorf("Prometheus can't read %s: %w", ofModels(text), err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line+"\n") {
				return fmt.Errorf("there is no %s in %s", line, ofModels(text))
			}
		}
		if n := strings.Count(ofModels(text), "\n"); n != len(lines) {
			return fmt.Errorf("%d lines, want %d: %s", n, len(lines), ofModels(text))
		}
		return nil
	})
}

// ofModels are the lines about models.
func ofModels(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "envoy_cardea_model_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func requestsOf(caller, model, usage string, n int) string {
	return fmt.Sprintf("envoy_cardea_model_requests_total{gateway=\"shop/web\",caller=%q,model=%q,usage=%q} %d",
		caller, model, usage, n)
}

func tokensOf(caller, model, kind string, n int) string {
	return fmt.Sprintf("envoy_cardea_model_tokens_total{gateway=\"shop/web\",caller=%q,model=%q,kind=%q} %d",
		caller, model, kind, n)
}

// TestModelUsage: the usage of answers is counted by caller and model, and stands in the access log: of JSON and of
// streams, if they have it. The model is that of the answer.
func TestModelUsage(t *testing.T) {
	t.Parallel()
	s := openModels(t, http.NotFoundHandler(), "modelUsage: {}")
	// A token is 4 bytes. The second prompt of a user has blocks that are cached, of 16 tokens.
	prompt := strings.Repeat("word", 32)
	ask := func(user, path, more string) {
		s.whole(user, "models.example", path, `{"model":"org/sim-7b",`+more+`}`)
	}
	ask("ann", "/v1/completions", `"prompt":"`+prompt+`"`)
	stream := `"prompt":"` + prompt + `","stream":true`
	ask("ann", "/v1/completions", stream+`,"stream_options":{"include_usage":true},"max_tokens":7`)
	ask("ann", "/v1/completions", stream)
	ask("ben", "/v1/embeddings", `"input":"`+strings.Repeat("w", 40)+`"`)
	ask("ben", "/v1/completions", `"prompt":"\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9}"`)
	const model = "org/sim-7b"
	s.has(requestsOf("ann", model, "known", 2), requestsOf("ann", model, "unknown", 1),
		requestsOf("ben", model, "known", 2), tokensOf("ann", model, "input", 64), tokensOf("ann", model, "output", 11),
		tokensOf("ann", model, "cached", 32), tokensOf("ben", model, "input", 10+13), tokensOf("ben", model, "output", 4),
		tokensOf("ben", model, "cached", 0))
	s.logs("models", `ann org/sim-7b 32/4/0`, `ann org/sim-7b 32/7/32`, `ann org/sim-7b <nil>/<nil>/<nil>`,
		`ben org/sim-7b 10/0/0`, `ben org/sim-7b 13/4/0`)
}

// TestModelUsageOfOthers: the usage of Anthropic's messages and OpenAI's responses is counted, as JSON and as events,
// cut anywhere. The input of Anthropic's does not contain what a cache had to do with; that of the metrics does. What a
// client or a model says of usages and models does not count, wherever it stands. Of an answer that ends with an error,
// or without the provider's last word, the usage is unknown: what was told so far is not all.
func TestModelUsageOfOthers(t *testing.T) {
	t.Parallel()
	const said = `{"model":"spoofed","usage":{"input_tokens":7,"prompt_tokens":7,"output_tokens":7,"cached_tokens":7}}`
	answers := map[string][2]string{
		"/v1/messages": {"application/json", `{"type":"message","metadata":` + said + `,"content":` +
			`[{"type":"tool_use","input":` + said + `},{"type":"text","text":"{\\\"usage\":{"}],` +
			`"usage":{"input_tokens":1,"cache_creation_input_tokens":20,` +
			`"cache_creation":{"ephemeral_5m_input_tokens":20},"cache_read_input_tokens":300,` +
			`"output_tokens":4000},"model":"claude"}`},
		"/v1/messages?stream": {"text/event-stream", "event: message_start\n" +
			`data: {"type":"message_start","message":{"model":"claude-s","usage":{"input_tokens":1,` +
			`"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}` + "\n\n" +
			`data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"hi"}}` + "\n\n" +
			`data: {"type":"message_delta","delta":{},"usage":{"output_tokens":4000}}` + "\n\n" +
			`data: {"type":"message_stop"}` + "\n\n"},
		"/v1/responses": {"application/json", `{"object":"response","metadata":` + said + `,"tools":[` + said + `],` +
			`"model":"gpt" , "usage" :{"input_tokens":321,` +
			`"input_tokens_details":{"cached_tokens":300},"output_tokens":4000,"output_tokens_details":` +
			`{"reasoning_tokens":7},"total_tokens":4321}}`},
		"/v1/responses?left": {"text/event-stream", `data: {"type":"response.created","response":{"tools":[` + said +
			`],"metadata":` + said + `,"model":"left","usage":null}}` + "\n\n"},
		"/v1/responses?stream": {"text/event-stream", `data: {"type":"response.created","response":{"model":"gpt-s",` +
			`"usage":null}}` + "\n\n" + `data: {"type":"response.completed","response":{"model":"gpt-s","usage":` +
			`{"input_tokens":321,"input_tokens_details":{"cached_tokens":300},"output_tokens":4000}}}` + "\n\n"},
	}
	begun := func(model string) string {
		return `data: {"type":"message_start","message":{"model":"` + model + `","usage":{"input_tokens":25,` +
			`"output_tokens":1}}}` + "\n\n"
	}
	chat := func(model, more string) string {
		return `data: {"model":"` + model + `","error":null,"choices":[{"delta":{"content":"[DONE]"}}],"usage":` +
			`{"prompt_tokens":321,"completion_tokens":4000,"prompt_tokens_details":{"cached_tokens":300}}` + more + "}\n\n"
	}
	const failed = `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n"
	const changed = `data: {"type":"message_delta","delta":{},"usage":{"output_tokens":4}}` + "\n\n"
	unknown := map[string]string{
		"claude-error": begun("claude-error") + "event: error\n" + failed,
		"claude-late":  begun("claude-late") + changed + failed + `data: {"type":"message_stop"}` + "\n\n",
		"claude-ends":  begun("claude-ends") + changed,
		"claude-said":  begun("claude-said") + `data: {"delta":{"type":"message_stop"},"text":"data: [DONE]"}`,
		"chat-error":   chat("chat-error", "") + `data: {"error":{"message":"out of memory"}}` + "\n\ndata: [DONE]\n\n",
		"chat-text":    chat("chat-text", "") + `data: {"error":"out of memory"}` + "\n\ndata: [DONE]\n\n",
		"chat-ends":    chat("chat-ends", ""),
		"chat-said":    chat("chat-said", "") + ": data: [DONE]\n\n",
		"gpt-failed": `data: {"type":"response.failed","response":{"model":"gpt-failed","error":{"code":"server_error"},` +
			`"usage":{"input_tokens":321,"output_tokens":1}}}` + "\n\n",
	}
	for model, text := range unknown {
		answers["/"+model] = [2]string{"text/event-stream", text}
	}
	unknown["json-ends"] = `{"model":"json-ends","usage":{"prompt_tokens":321,"completion_tokens":4000},"choices":[`
	answers["/json-ends"] = [2]string{"application/json", unknown["json-ends"]}
	answers["/chat"] = [2]string{"text/event-stream", chat("chat", "") + "data: [DONE]"}
	answers["/chat-newline"] = [2]string{"text/event-stream", chat("chat-newline", "") + "data:[DONE]\r\n\r\n"}
	answers["/chat-comment"] = [2]string{"text/event-stream", chat("chat-comment", "") + "data: [DONE]\n\n: a\n:b\n\n"}
	answers["/gpt-incomplete"] = [2]string{"text/event-stream", `data: {"response":{"model":"gpt-incomplete",` +
		`"error":null,"usage":{"input_tokens":321,"input_tokens_details":{"cached_tokens":300},"output_tokens":4000}},` +
		`"type":"response.incomplete"}` + "\n\n"}
	s := openModels(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answers[r.RequestURI]
		w.Header().Set("Content-Type", answer[0])
		for text, n := answer[1], 1; text != ""; n = n%31 + 1 {
			n = min(n, len(text))
			_, _ = io.WriteString(w, text[:n])
			_ = http.NewResponseController(w).Flush()
			text = text[n:]
		}
	}), "modelUsage: {}")
	for path, answer := range answers {
		if got := s.whole("ann", "odd.example", path, ""); string(got) != answer[1] {
			t.Errorf("%s: %s, want %s", path, got, answer[1])
		}
	}
	want := []string{requestsOf("ann", "left", "unknown", 1)}
	for model := range unknown {
		want = append(want, requestsOf("ann", model, "unknown", 1))
	}
	for _, model := range []string{
		"claude", "claude-s", "gpt", "gpt-s", "chat", "chat-newline", "chat-comment", "gpt-incomplete",
	} {
		want = append(want, requestsOf("ann", model, "known", 1), tokensOf("ann", model, "input", 321),
			tokensOf("ann", model, "output", 4000), tokensOf("ann", model, "cached", 300))
	}
	s.has(want...)
}

// logs waits until the access log has lines of a route's requests: caller, model, tokens.
func (s *modelStage) logs(route string, want ...string) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error {
		lines, err := logged(s.log)
		if err != nil {
			return err
		}
		var got []string
		for _, line := range lines[ruleOf(lines)] {
			if line["route"] == "HTTPRoute shop/"+route {
				got = append(got, fmt.Sprintf("%v %v %v/%v/%v", line["modelCaller"], line["model"], line["inputTokens"],
					line["outputTokens"], line["cachedTokens"]))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			return fmt.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return nil
	})
}

// ruleOf is the name of the only rule.
func ruleOf(lines map[string][]map[string]any) (rule string) {
	for rule = range lines {
	}
	return rule
}

// TestModelAnswersOpen: the work for an answer of usages that are never closed grows with its length, not with its
// square. (That would be for minutes; the limit is generous.)
func TestModelAnswersOpen(t *testing.T) {
	t.Parallel()
	const open, pieces = `"usage":{"model":"`, 1 << 10
	piece := strings.Repeat(open, 2<<10)
	s := openModels(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{"+oddUsage)
		for range pieces {
			_, _ = io.WriteString(w, piece)
		}
	}), "modelUsage: {}")
	body := s.post("ann", "odd.example", "/", "").Body
	stop := time.AfterFunc(30*time.Second, func() { body.Close() })
	defer stop.Stop()
	whole, err := io.ReadAll(body)
	if err != nil || string(whole) != "{"+oddUsage+strings.Repeat(piece, pieces) {
		t.Fatalf("%d bytes, %v", len(whole), err)
	}
	s.has(requestsOf("ann", "", "unknown", 1)) // it ends in the middle
}

const oddUsage = `"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}`

var long = strings.Repeat("x", 1<<20)

// oddAnswers are answers of model servers by their paths: types and bodies.
var oddAnswers = map[string][2]string{
	"/html":       {"text/html", `{"model":"m",` + oddUsage + `}`},
	"/broken":     {"application/json", `{"model":"m","choices":[`},
	"/empty":      {"application/json", ""},
	"/huge":       {"application/json", `{"data":[` + strings.Repeat("0.25,", 1<<20) + `1],"model":"m",` + oddUsage + "}"},
	"/after":      {"application/json; charset=utf-8", `{"model":"m",` + oddUsage + `,"more":"` + long + `"}`},
	"/most":       {"application/json", `{"model":"m","usage":{"prompt_tokens":1` + strings.Repeat("0", 400) + `}}`},
	"/name":       {"application/json", `{"model":"a\nb c",` + oddUsage + `}`},
	"/bytes":      {"application/json", `{"model":"m` + "\xff" + `",` + oddUsage + `}`},
	"/escape":     {"application/json", `{"model":"m\ud83d",` + oddUsage + `}`},
	"/long":       {"application/json", `{"model":"` + long[:200] + `",` + oddUsage + `}`},
	"/compressed": {"application/json", compressed(`{"model":"m",` + oddUsage + `}`)},
}

func compressed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// TestModelAnswersPass: answers that are not as expected get to clients as they are, and so do large ones, which no
// buffer would take.
func TestModelAnswersPass(t *testing.T) {
	t.Parallel()
	s := openModels(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := oddAnswers[r.URL.Path]
		w.Header().Set("Content-Type", answer[0])
		if r.URL.Path == "/compressed" {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = io.WriteString(w, answer[1])
	}), "modelUsage: {}")
	for path, answer := range oddAnswers {
		if got := s.whole("ann", "odd.example", path, ""); string(got) != answer[1] {
			t.Errorf("%s: %d bytes, want %d", path, len(got), len(answer[1]))
		}
	}
	s.has(requestsOf("ann", "", "unknown", 2), requestsOf("ann", "m", "unknown", 1), requestsOf("ann", "m", "known", 3),
		requestsOf("ann", "", "known", 3), tokensOf("ann", "", "input", 9), tokensOf("ann", "", "output", 12),
		tokensOf("ann", "", "cached", 0), requestsOf("ann", long[:128], "known", 1),
		tokensOf("ann", long[:128], "input", 3), tokensOf("ann", long[:128], "output", 4),
		tokensOf("ann", long[:128], "cached", 0), tokensOf("ann", "m", "input", 1_000_000_006),
		tokensOf("ann", "m", "output", 8),
		tokensOf("ann", "m", "cached", 0))
}

// TestModelEventsComeAtOnce: a piece of an answer gets to the client before the next one is sent, and the usage is
// found wherever it is cut.
func TestModelEventsComeAtOnce(t *testing.T) {
	t.Parallel()
	events := "data: {\"model\":\"m\",\"usage\":null}\n" + "data: {\"model\":\"m\"," + oddUsage + "}\n" + "data: [DONE]\n"
	next := make(chan struct{})
	s := openModels(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			_, _ = io.WriteString(w, events[i:i+1])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	}), "modelUsage: {}")
	body := bufio.NewReader(s.post("ann", "odd.example", "/", "").Body)
	for i := range events {
		if c, err := body.ReadByte(); err != nil || c != events[i] {
			t.Fatalf("byte %d: %q, %v", i, c, err)
		}
		next <- struct{}{} // the server sends no more before
	}
	if _, err := body.ReadByte(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	s.has(requestsOf("ann", "m", "known", 1), tokensOf("ann", "m", "input", 3), tokensOf("ann", "m", "output", 4),
		tokensOf("ann", "m", "cached", 0))
}
