package explain

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
)

// TestPick: a picker gets the request as it was asked about, and its answer is told in a few lines; so is why it can't
// be asked. What a real picker says is shown by internal/test/e2e's TestPickerOfAFolder.
func TestPick(t *testing.T) {
	server := `{"endpoint": "10.0.0.%d:80", "name": "llm-%[1]d", "total": 2.75, "overloaded": %q,
		"state": {"known": %v}, "scores": [{"name": "prefix", "value": 0.75, "weight": 3},
		{"name": "in-flight", "value": 1, "weight": 0.5}]}`
	one, two := fmt.Sprintf(server, 1, "7 requests wait", true), fmt.Sprintf(server, 2, "", false)
	const sum = ": 2.75 = prefix 3 x 0.75 + in-flight 0.5 x 1"
	for name, c := range map[string]struct {
		answer string
		want   []string
	}{
		"a pick": {`{"status": 200, "way": "scores", "endpoints": ["10.0.0.2:80", "10.0.0.1:80", "10.0.0.3:80"],
			"servers": [` + two + "," + one + "]}", []string{
			"now 10.0.0.2:80, or if that can't be reached 10.0.0.1:80, then 10.0.0.3:80",
			"10.0.0.2:80, llm-2" + sum + "; its load is not known",
			"10.0.0.1:80, llm-1" + sum + "; overloaded: 7 requests wait",
		}},
		"other models": {`{"status": 200, "way": "scores", "endpoints": ["10.0.0.2:80"], "prompt": {"model": "a"},
			"rewrite": {"model": "b", "by": "canary", "weight": 9, "total": 10}}`, []string{
			"now 10.0.0.2:80",
			`its model "a" is replaced by "b", as 9 of 10 such requests are, at random (InferenceModelRewrite canary)`,
		}},
		"a default": {`{"status": 200, "way": "scores", "endpoints": ["10.0.0.2:80"],
			"rewrite": {"model": "b", "by": "fallback", "weight": 1, "total": 1}}`, []string{
			"now 10.0.0.2:80", `it names no model and gets "b" (InferenceModelRewrite fallback)`,
		}},
		"a chance": {`{"status": 200, "way": "by chance", "endpoints": ["10.0.0.2:80"], "servers": []}`,
			[]string{"now 10.0.0.2:80 (by chance)"}},
		"many": {`{"status": 503, "reason": "full", "servers": [` + strings.Repeat(one+",", 6) + one + `]}`, []string{
			"now it would be answered 503: full", "llm-1", "llm-1", "llm-1", "llm-1", "llm-1", "and 2 more servers",
		}},
		"an escape":   {`{"status": 503, "reason": "a\u001b[2Jb"}`, []string{`answered 503: a\x1b[2Jb`}},
		"rubbish":     {`rubbish`, []string{"the picker can't be asked: its answer can't be read: invalid character 'r'"}},
		"an error":    {"404", []string{"the picker can't be asked: it answers 404 Not Found"}},
		"a silence":   {"hang", []string{"the picker can't be asked: it does not answer within 1s"}},
		"nobody":      {"", []string{"the picker can't be asked: it does not serve"}},
		"no listener": {"closed", []string{"the picker can't be asked: dial tcp"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			picker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				headers := r.Header.Get("x-cardea-priority") + r.Header.Get("authorization")
				got := fmt.Sprintf("%s %s %s %s %s", r.Method, r.RequestURI, r.Host, headers, body)
				if want := "POST /explain/v1/completions?x=%2F models.example -1 the body"; got != want || err != nil {
					t.Errorf("it was asked %q, want %q (%v)", got, want, err)
				}
				switch c.answer {
				case "404":
					http.NotFound(w, r)
				case "hang":
					<-r.Context().Done()
				default:
					fmt.Fprint(w, c.answer)
				}
			}))
			defer picker.Close()
			if c.answer == "closed" {
				picker.Close()
			}
			e := New(Config{Picker: func(model.ObjectRef) (string, bool) { return picker.URL, c.answer != "" }})
			o := Outcome{pool: model.Ref(model.KindInferencePool, "a", "llama")}
			list := []Outcome{o}
			e.addPicks(list, request.Request{Host: "models.example", Path: "/v1/completions?x=%2F",
				Header: http.Header{"X-Cardea-Priority": {"-1"}, "Authorization": {"secret"}}}, "the body")
			o = list[0]
			var p page
			p.printPick(*o.Pick)
			lines := strings.Split(strings.TrimSpace(p.String()), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("it says\n%s\nwant %d lines", p.String(), len(c.want))
			}
			for i, want := range c.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("line %d is %q, want %q", i, lines[i], want)
				}
			}
		})
	}
	var o Outcome
	if New(Config{}).addPick(t.Context(), &o, request.Request{}, ""); o.Pick != nil {
		t.Error("a picker was asked that Cardea does not run")
	}
}
