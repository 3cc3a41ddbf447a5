package simulator_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cardea.dev/cardea/examples/inference/simulator"
)

type usage struct {
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// ask sends a body and returns the answer and the time that it took, in the time of the bubble.
func ask(t *testing.T, s *simulator.Server, path, body string) (*httptest.ResponseRecorder, time.Duration) {
	t.Helper()
	began := time.Now()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	return w, time.Since(began)
}

func prompt(text string) string {
	return fmt.Sprintf(`{"model":"simulated","max_tokens":10,"messages":[{"role":"user","content":%q}]}`, text)
}

// TestCache: what is cached takes no time but for the start of a request, the rest does, and so does what left the
// cache.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := simulator.Defaults()
		set.CacheBlocks, set.Prefill, set.Decode = 20, time.Millisecond, 10*time.Millisecond
		set.Start = 50 * time.Millisecond
		s := simulator.New(set)
		a, b := strings.Repeat("a", 1000), strings.Repeat("b", 1000)
		for i, c := range []struct {
			text   string
			tokens int
			cached int
		}{
			{a, 254, 0},
			{a, 254, 15 * 16},
			{a + "and more", 256, 15 * 16}, // the block that the end was in has another end now
			{b, 254, 0},
			{a, 254, 5 * 16}, // most of its 15 blocks made room for others
		} {
			w, took := ask(t, s, "/v1/chat/completions", prompt(c.text))
			var u usage
			if err := json.Unmarshal(w.Body.Bytes(), &u); err != nil {
				t.Fatal(err, w.Body)
			}
			if u.Usage.Prompt != c.tokens || u.Usage.Details.Cached != c.cached || u.Usage.Completion != 10 {
				t.Errorf("%d: %+v, want %d tokens, %d cached", i, u, c.tokens, c.cached)
			}
			if want := time.Duration(c.tokens-c.cached+150) * time.Millisecond; took != want {
				t.Errorf("%d: took %s, want %s", i, took, want)
			}
		}
	})
}

// TestQueue: requests beyond the bound wait, and the metrics say so.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := simulator.Defaults()
		set.Concurrency = 2
		s := simulator.New(set)
		done := make(chan struct{})
		for range 5 {
			go func() {
				ask(t, s, "/v1/completions", `{"model":"simulated","prompt":"hello"}`)
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		for _, want := range []string{
			`vllm:num_requests_waiting{model_name="simulated"} 3`, `vllm:num_requests_running{model_name="simulated"} 2`,
		} {
			if got := metrics(s); !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
		for range 5 {
			<-done
		}
		if got := metrics(s); !strings.Contains(got, `vllm:num_requests_waiting{model_name="simulated"} 0`) {
			t.Error(got)
		}
	})
}

func metrics(s *simulator.Server) string {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// TestAdapters: an adapter is loaded once; there is room for two; one that is in use stays.
func TestAdapters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := simulator.Defaults()
		set.Adapters, set.Load, set.Decode = []string{"x", "y", "z"}, time.Second, 100*time.Millisecond
		s := simulator.New(set)
		took := func(model string) time.Duration {
			w, took := ask(t, s, "/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"a","max_tokens":1}`, model))
			if w.Code != 200 {
				t.Error(w.Code, w.Body)
			}
			return took.Truncate(time.Millisecond * 100)
		}
		for _, c := range []struct {
			model string
			want  time.Duration
		}{{"x", 1100}, {"x", 100}, {"simulated", 100}, {"y", 1100}, {"x", 100}, {"z", 1100}, {"x", 100}, {"y", 1100}} {
			if got := took(c.model); got != c.want*time.Millisecond {
				t.Errorf("%s took %s, want %s", c.model, got, c.want*time.Millisecond)
			}
		}
		if got := metrics(s); !strings.Contains(got, `max_lora="2",running_lora_adapters="y,x",waiting_lora_adapters=""`) {
			t.Error(got)
		}
		done := make(chan struct{})
		for _, model := range []string{"x", "y", "z"} {
			go func() { took(model); done <- struct{}{} }()
			synctest.Wait() // x and y are in use, so z finds no room
		}
		if got := metrics(s); !strings.Contains(got, `waiting_lora_adapters="z"`) {
			t.Error(got)
		}
		for range 3 {
			<-done
		}
	})
}

// TestStream: tokens come one by one, and usage if it is wanted.
func TestStream(t *testing.T) {
	server := httptest.NewServer(simulator.New(simulator.Defaults()).Handler())
	defer server.Close()
	r, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(
		`{"model":"simulated","stream":true,"max_tokens":3,"stream_options":{"include_usage":true},"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var events []string
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if event, found := strings.CutPrefix(lines.Text(), "data: "); found {
			events = append(events, event)
		}
	}
	if len(events) != 5 || !strings.Contains(events[2], "word2") || events[4] != "[DONE]" ||
		!strings.Contains(events[3], `"completion_tokens":3`) || r.Header.Get("x-model-server") != "simulator" {
		t.Errorf("%v %q", r.Header, events)
	}
}

func TestOtherAnswers(t *testing.T) {
	set := simulator.Defaults()
	set.Decode = 0
	s := simulator.New(set)
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/embeddings", `{"model":"simulated","input":["a"]}`, 200, `"embedding":[0,0.5,1]`},
		{"/v1/completions", `{"model":"simulated","prompt":"a","max_tokens":1}`, 200, `"text":"word0 "`},
		{"/v1/completions", `{"model":"gpt","prompt":"a"}`, 404, "the model gpt does not exist"},
		{"/v1/completions", `hello`, 400, "no JSON object"},
	} {
		w, _ := ask(t, s, c.path, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s, want %s", c.body, w.Code, w.Body, c.want)
		}
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/v1/models", nil))
	if text, _ := io.ReadAll(w.Body); !strings.Contains(string(text), `"id":"simulated"`) {
		t.Errorf("%s", text)
	}
}
