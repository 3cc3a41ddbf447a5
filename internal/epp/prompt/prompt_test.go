package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cardea.dev/cardea/internal/epp/prompt"
)

// visible shows the separators of a text as | (a message) and / (a member).
var visible = strings.NewReplacer("\x1e", "|", "\x1f", "/")

func TestParse(t *testing.T) {
	const chat = "/v1/chat/completions"
	long := strings.Repeat("A", 300)
	for name, c := range map[string]struct {
		path, body string
		want       prompt.Request
		text       string
	}{
		"chat": {
			path: chat,
			body: `{"model":"m","messages":[{"role":"system","content":"be kind"},{"role":"user","content":"caf\u00e9\n"}],` +
				`"stream":true,"max_tokens":7,"temperature":0.5}`,
			want: prompt.Request{Kind: prompt.Chat, Model: "m", Stream: true, MaxTokens: 7, Complete: true},
			text: "|/system/be kind|/user/café\n",
		},
		"tools come first": {
			path: chat + "?api-version=1",
			body: `{"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function"}],"max_completion_tokens":3}`,
			want: prompt.Request{Kind: prompt.Chat, MaxTokens: 3, Complete: true},
			text: `[{"type":"function"}]|/user/hi`,
		},
		"parts of contents": {
			path: "/openai" + chat,
			body: `{"messages":[{"role":"user","content":[{"type":"text","text":"what is "},` +
				`{"type":"image_url","image_url":{"detail":"low","url":"http://a/b.png"}},"?"]}]}`,
			want: prompt.Request{Kind: prompt.Chat, Complete: true},
			text: `|/user/what is "http://a/b.png"?`,
		},
		"calls of tools": {
			path: chat,
			body: `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},` +
				`{"role":"tool","tool_call_id":"1","content":"3"}]}`,
			want: prompt.Request{Kind: prompt.Chat, Complete: true},
			text: `|/assistant//[{"id":"1"}]|/tool/1/3`,
		},
		"completion": {
			path: "/v1/completions", body: ` {"prompt": "once", "model": "m"}`,
			want: prompt.Request{Kind: prompt.Completion, Model: "m", Complete: true}, text: "once",
		},
		"messages": {
			path: "/v1/messages?beta=true",
			body: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi",` +
				`"cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"url","url":"u"}}]}],` +
				`"system":[{"type":"text","text":"be kind"}],"tools":[1]}`,
			want: prompt.Request{Kind: prompt.Messages, Model: "m", MaxTokens: 9, Complete: true},
			text: `[1]be kind|/user/hi{"type":"url","url":"u"}`,
		},
		"response": {
			path: "/v1/responses",
			body: `{"input":"once","model":"m","stream":true,"max_output_tokens":5,"max_tokens":6,"instructions":"be kind"}`,
			want: prompt.Request{Kind: prompt.Responses, Model: "m", Stream: true, MaxTokens: 5, Complete: true},
			text: "be kind|/user/once",
		},
		"results of tools": {
			path: "/v1/messages/count_tokens",
			body: `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":` +
				`[{"type":"text","text":"3","cache_control":{}}]}]}]}`,
			want: prompt.Request{Kind: prompt.Messages, Complete: true}, text: `|/user/"1"3`,
		},
		"items of a response": {
			path: "/v1/responses",
			body: `{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]},` +
				`{"type":"function_call_output","call_id":"1","output":"3"}]}`,
			want: prompt.Request{Kind: prompt.Responses, Complete: true},
			text: "|/user/hi|/function_call_output/1/3",
		},
		"tokens": {
			path: "/v1/completions", body: `{"prompt":[1,2,3]}`,
			want: prompt.Request{Kind: prompt.Completion, Complete: true}, text: "[1,2,3]",
		},
		"embeddings": {
			path: "/v1/embeddings/", body: `{"input":["a","b"],"model":"e","max_tokens":3}`,
			want: prompt.Request{Kind: prompt.Embedding, Model: "e", Complete: true}, text: `["a","b"]`,
		},
		"cut off in a string": {
			path: chat, body: `{"model":"m","messages":[{"role":"user","content":"once\nupon\u00`,
			want: prompt.Request{Kind: prompt.Chat, Model: "m"}, text: "|/user/once\nupon",
		},
		"cut off in a number": {
			path: chat, body: `{"messages":[{"role":"user","content":"a"}],"max_tokens":1`,
			want: prompt.Request{Kind: prompt.Chat}, text: "|/user/a",
		},
		"wrong kinds": {
			path: chat, body: `{"model":3,"stream":"yes","max_tokens":-1,"messages":{"a":1},"messages":["hi",{"role":7}]}`,
			want: prompt.Request{Kind: prompt.Chat, Complete: true}, text: "||/7",
		},
		"no JSON":   {path: chat, body: "hello", want: prompt.Request{Kind: prompt.Chat}},
		"no body":   {path: chat, want: prompt.Request{Kind: prompt.Chat}},
		"no object": {path: chat, body: "[]", want: prompt.Request{Kind: prompt.Chat}},
		"another path": {
			path: "/v1/models", body: `{"model":"m"}`, want: prompt.Request{Kind: prompt.Other},
		},
		"clipped": {
			path: "/v1/completions", body: `{"prompt":"` + long + `"}`,
			want: prompt.Request{Kind: prompt.Completion, Complete: true}, text: long[:64],
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := prompt.Parse(c.path, []byte(c.body), 64)
			if text := visible.Replace(string(got.Text)); text != c.text {
				t.Errorf("text %q, want %q", text, c.text)
			}
			got.Text = nil
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(prompt.Request{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLongImages: an image in a data URL takes a few bytes of the text, and another image other ones.
func TestLongImages(t *testing.T) {
	text := func(data string) string {
		return string(prompt.Parse("/v1/chat/completions", fmt.Appendf(nil,
			`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:%s"}},`+
				`{"type":"text","text":"what is it?"}]}]}`, data), 1000).Text)
	}
	one, other := text(strings.Repeat("A", 5000)), text(strings.Repeat("A", 4999)+"B")
	if len(one) > 100 || !strings.HasSuffix(one, "what is it?") {
		t.Errorf("%d bytes: %q", len(one), one)
	}
	if one == other {
		t.Error("two images have one text")
	}
}

// TestBeginnings: a body that is cut off anywhere has a text that begins the text of the whole body. So a prompt finds
// its server though only a part of it was read.
func TestBeginnings(t *testing.T) {
	body := []byte(`{"model":"m","messages":[{"role":"system","content":"a\\b\"c\u00e9d"},` +
		`{"role":"user","content":[{"type":"text","text":"e\nf"}]}],"stream":true}`)
	whole := prompt.Parse("/v1/chat/completions", body, 1<<10)
	for n := range body {
		got := prompt.Parse("/v1/chat/completions", body[:n], 1<<10)
		if !strings.HasPrefix(string(whole.Text), string(got.Text)) {
			t.Errorf("%s: %q does not begin %q", body[:n], got.Text, whole.Text)
		}
	}
}

// TestRename: a body gets another model, and nothing else of it changes.
func TestRename(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"it has one":       {`{"n":1, "model" : "a" ,"prompt":"a"}`, `{"n":1, "model" : "b\"" ,"prompt":"a"}`},
		"the last counts":  {`{"model":"a","model":"c"}`, `{"model":"a","model":"b\""}`},
		"it is no name":    {`{"model":null}`, `{"model":"b\""}`},
		"it has none":      {" { \"prompt\":\"x\"}\n", " {\"model\":\"b\\\"\", \"prompt\":\"x\"}\n"},
		"it is another's":  {`{"role":"user"}`, ""},
		"cut off after it": {`{"model":"a","prompt":"on`, `{"model":"b\"","prompt":"on`},
		"cut off in it":    {`{"prompt":"x","model":"a`, ""},
		"cut off before":   {`{"prompt":"on`, ""},
		"no object":        {`["{"]`, ""},
		"no JSON":          {`model {`, ""},
		"nothing":          {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(c.body)
			got := string(prompt.Parse("/v1/completions", body, 64).WithModel(body, `b"`))
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if string(body) != c.body {
				t.Errorf("the body was changed to %s", body)
			}
		})
	}
	body := []byte(`{"model":"a"}`)
	if renamed := prompt.Parse("/v1/completions", body, 64).WithModel(body, "\xff"); renamed != nil {
		t.Errorf("%q is a name", renamed)
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":1}`,
		`{"messages":[{"content":[{"type":"text","text":"a"},{"image_url":{"url":"u"}}]}],"tools":[1]}`,
		`{"prompt":[[1,2],[3]],"max_tokens":1e3}`, `{"input":"\ud800"}`,
		"{\"prompt\":\"\xff\\", `{"messages":[[[[`, "", "[", `{"prompt":"\u12`,
	} {
		f.Add(body, 16)
	}
	f.Fuzz(func(t *testing.T, body string, max int) {
		max = int(uint16(max))
		for _, path := range []string{
			"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages", "/",
		} {
			r := prompt.Parse(path, []byte(body), max)
			if len(r.Text) > max {
				t.Errorf("%d bytes of text, more than %d", len(r.Text), max)
			}
			renamed := r.WithModel([]byte(body), "renamed")
			if renamed == nil {
				continue
			}
			again := prompt.Parse(path, renamed, max)
			if again.Model != "renamed" || string(again.Text) != string(r.Text) || again.Complete != r.Complete {
				t.Errorf("renamed: %+v, before: %+v", again, r)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	body := fmt.Appendf(nil, `{"model":"m","messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`,
		strings.Repeat("be kind. ", 2000), strings.Repeat("line\n", 200_000))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		prompt.Parse("/v1/chat/completions", body, 16<<10)
	}
}
