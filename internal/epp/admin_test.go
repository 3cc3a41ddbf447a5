package epp

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/epp/objectives"
	"cardea.dev/cardea/internal/epp/rewrite"
	"cardea.dev/cardea/internal/epp/score"
	"cardea.dev/cardea/internal/test/bodytest"
)

func (p *Picker) get(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	p.adminHandler().ServeHTTP(w, r)
	return w
}

// TestExplain: the explanation is the decision, with scores, and changes nothing.
func TestExplain(t *testing.T) {
	load := &loads{}
	p := newPicker(t, load, "10.0.0.1:1", "10.0.0.2:1")
	load.set("10.0.0.1:1", score.State{Known: true, Waiting: 9})
	load.set("10.0.0.2:1", score.State{Known: true, Waiting: 9})
	c := request("a", 1000)
	p.trackRequest(p.decideCall(c)).end()
	size := p.index.Len()
	var e Explanation
	w := p.get("POST", "/explain/v1/chat/completions", string(c.body))
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatal(err, w.Body)
	}
	if e.Status != 200 || len(e.Endpoints) != 2 || e.Prompt.Kind != "chat" || e.Prompt.Blocks == 0 || !e.Saturated ||
		e.Servers[0].Overloaded == "" || len(e.Servers[0].Scores) != 4 || !strings.HasPrefix(e.Servers[0].Name, "pod-") {
		t.Errorf("%s", w.Body)
	}
	if e.Servers[0].Matched+e.Servers[1].Matched != e.Prompt.BlockBytes {
		t.Errorf("matched %d and %d of %d bytes", e.Servers[0].Matched, e.Servers[1].Matched, e.Prompt.BlockBytes)
	}
	w = p.get("POST", "/explain/v1/chat/completions", string(c.body), objectives.Header, "batch")
	if !strings.Contains(w.Body.String(), `"status": 429`) || !strings.Contains(w.Body.String(), `"priority": -1`) {
		t.Errorf("%s", w.Body)
	}
	if w = p.get("GET", "/explain", ""); !strings.Contains(w.Body.String(), `"kind": "other"`) {
		t.Errorf("%s", w.Body)
	}
	if p.index.Len() != size || p.flights.totalCount() != 0 {
		t.Error("explaining changed something")
	}
}

// TestUnreadBodies: a body has to arrive in time, also at pages that read none.
func TestUnreadBodies(t *testing.T) {
	handler := newPicker(t, &loads{}, "10.0.0.1:1").adminServer().Handler
	for _, path := range []string{"/explain/v1/completions", "/metrics", "/nowhere"} {
		for length, deadlines := range map[int64]int{9: 1, -1: 1, 0: 0} {
			answer := bodytest.NewDeadlineRecorder()
			q, _ := bodytest.NewRequest(t, "POST", path, strings.NewReader("123456789"), length)
			handler.ServeHTTP(answer, q)
			if len(answer.Deadlines) != deadlines {
				t.Errorf("%s, %d bytes: %d deadlines, want %d", path, length, len(answer.Deadlines), deadlines)
			}
		}
	}
}

// TestOtherModels: a request that gets another model is scored, counted and explained with it; one whose body can't be
// changed keeps its own.
func TestOtherModels(t *testing.T) {
	load := &loads{}
	p := newPicker(t, load, "10.0.0.1:1", "10.0.0.2:1")
	load.set("10.0.0.1:1", score.State{Known: true, Adapters: 1, Loaded: []string{"m"}})
	load.set("10.0.0.2:1", score.State{Known: true, Adapters: 1, Loaded: []string{"n"}})
	pool := *p.pool.Load()
	pool.rewrites = rewrite.Rewrites{{Name: "alias", Rules: []rewrite.Rule{
		{Models: []string{"m"}, Targets: []rewrite.Target{{Model: "n"}}},
		{Models: []string{"same"}, Targets: []rewrite.Target{{Model: "same"}}},
	}}}
	p.pool.Store(&pool)
	c := request("a", 100)
	d := p.decideCall(c)
	want(t, "endpoint", d.endpoints[0], "10.0.0.2:1")
	want(t, "body", string(d.body), strings.Replace(string(c.body), `"m"`, `"n"`, 1))
	p.metrics.countDecision(d, time.Now())
	metric := `inference_objective_request_total{model_name="m",target_model_name="n"} 1`
	if text := p.get("GET", "/metrics", "").Body.String(); !strings.Contains(text, metric) {
		t.Errorf("no %s in\n%s", metric, text)
	}
	var e Explanation
	w := p.get("POST", "/explain"+c.path, string(c.body))
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Rewrite == nil {
		t.Fatal(err, w.Body)
	}
	want(t, "explained", *e.Rewrite, ExplainedRewrite{Model: "n", By: "alias", Weight: 1, Total: 1})
	want(t, "the model that was asked for", e.Prompt.Model, "m")

	c.body = []byte(strings.Replace(string(c.body), `"m"`, `"same"`, 1))
	if d := p.decideCall(c); d.body != nil || d.model != "same" || d.rewrite.By != "" {
		t.Errorf("a model that stays is replaced: %+v in %s", d.rewrite, d.body)
	}
	c.path = "/v1/files"
	if d := p.decideCall(c); d.body != nil || d.model != "" || d.rewrite.By != "" {
		t.Errorf("a body that is not read becomes %s", d.body)
	}
}

// TestMetrics: the names that others document are there, and clients can't make more names than are bounded.
func TestMetrics(t *testing.T) {
	load := &loads{}
	p := newPicker(t, load, "10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1")
	load.set("10.0.0.1:1", score.State{Known: true, Waiting: 4, KVCache: 0.5})
	load.set("10.0.0.2:1", score.State{Gone: true})
	for i := range 2 * maxModelLabels {
		c := request("a", 100)
		c.body = []byte(strings.Replace(string(c.body), `"m"`, fmt.Sprintf(`"m%d"`, i), 1))
		p.metrics.countDecision(p.decideCall(c), time.Now())
	}
	text := p.get("GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`inference_pool_ready_pods{name="llm"} 3`, `inference_pool_average_queue_size{name="llm"} 4`,
		`inference_pool_average_kv_cache_utilization{name="llm"} 0.5`,
		`inference_objective_request_total{model_name="m0",target_model_name="m0"} 1`,
		`inference_objective_request_total{model_name="other",target_model_name="other"} 100`,
		`inference_extension_scheduler_e2e_duration_seconds_count 200`, `inference_extension_prefix_indexer_size 0`,
		`inference_extension_prefix_indexer_hit_ratio_count 200`, `cardea_picker_endpoints{state="gone"} 1`,
		`cardea_picker_picks_total{by="scores"} 200`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if w := p.get("GET", "/healthz", ""); w.Code != 200 {
		t.Error(w.Code)
	}
	p.pool.Store(nil)
	if w := p.get("GET", "/healthz", ""); w.Code != 503 {
		t.Error(w.Code)
	}
}
