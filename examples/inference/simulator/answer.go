package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// answer writes the answer to one request: whole at its end, or token by token as server-sent events.
type answer struct {
	w      http.ResponseWriter
	kind   kind
	model  string
	stream bool
	usage  bool // wanted in the stream
	wanted int  // tokens

	prompt, cached int // tokens
	words          []string
}

func newAnswer(w http.ResponseWriter, k kind, q question, s Settings) *answer {
	a := &answer{w: w, kind: k, model: q.Model, stream: q.Stream, usage: q.Options.Usage, wanted: s.Tokens}
	for _, n := range []int{q.MaxTokens, q.MaxNew} {
		if n > 0 {
			a.wanted = n
		}
	}
	if k == embedding {
		a.wanted, a.stream = 0, false
	}
	return a
}

// begin says how many tokens the prompt has, and how many of them were cached.
func (a *answer) begin(prompt, cached int) {
	a.prompt, a.cached = prompt, cached
	a.w.Header().Set("x-cached-tokens", fmt.Sprint(cached))
	if a.stream {
		a.w.Header().Set("Content-Type", "text/event-stream")
		a.w.WriteHeader(http.StatusOK)
		a.flush()
	}
}

func (a *answer) token() {
	word := fmt.Sprintf("word%d ", len(a.words))
	a.words = append(a.words, word)
	if !a.stream {
		return
	}
	choice := map[string]any{"index": 0, "text": word}
	if a.kind == chat {
		choice = map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "content": word}}
	}
	if len(a.words) == a.wanted {
		choice["finish_reason"] = "length"
	}
	a.event(map[string]any{"model": a.model, "object": a.object(".chunk"), "choices": []any{choice}})
}

func (a *answer) end() {
	body := map[string]any{"model": a.model, "object": a.object(""), "usage": a.usages()}
	switch {
	case a.stream:
		if a.usage {
			body["object"], body["choices"] = a.object(".chunk"), []any{}
			a.event(body)
		}
		fmt.Fprint(a.w, "data: [DONE]\n\n")
		a.flush()
		return
	case a.kind == embedding:
		body["data"] = []any{map[string]any{"object": "embedding", "index": 0, "embedding": []float64{0, 0.5, 1}}}
	case a.kind == chat:
		said := map[string]any{"role": "assistant", "content": strings.Join(a.words, "")}
		body["choices"] = []any{map[string]any{"index": 0, "message": said, "finish_reason": "length"}}
	default:
		body["choices"] = []any{map[string]any{"index": 0, "text": strings.Join(a.words, ""), "finish_reason": "length"}}
	}
	a.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(a.w).Encode(body) // fails if the client is gone
}

func (a *answer) object(suffix string) string {
	switch a.kind {
	case chat:
		return "chat.completion" + suffix
	case embedding:
		return "list"
	case completion:
	}
	return "text_completion"
}

func (a *answer) usages() map[string]any {
	return map[string]any{
		"prompt_tokens": a.prompt, "completion_tokens": len(a.words), "total_tokens": a.prompt + len(a.words),
		"prompt_tokens_details": map[string]any{"cached_tokens": a.cached},
	}
}

func (a *answer) event(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of words and numbers
	}
	fmt.Fprintf(a.w, "data: %s\n\n", text)
	a.flush()
}

func (a *answer) flush() { _ = http.NewResponseController(a.w).Flush() }
