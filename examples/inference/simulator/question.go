package simulator

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// kind is which of the APIs is asked.
type kind int

const (
	chat kind = iota
	completion
	embedding
)

// question is a request, as far as it matters here.
type question struct {
	Model     string `json:"model"`
	Messages  []message
	Tools     json.RawMessage
	Prompt    json.RawMessage
	Input     json.RawMessage
	Stream    bool `json:"stream"`
	MaxTokens int  `json:"max_tokens"`
	MaxNew    int  `json:"max_completion_tokens"`
	Options   struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type message struct {
	Role    string
	Content json.RawMessage
}

// text is what a model would be fed with, by a template as models have one.
func (q question) text(k kind) []byte {
	switch k {
	case completion:
		return plain(q.Prompt)
	case embedding:
		return plain(q.Input)
	case chat:
	}
	var b bytes.Buffer
	if len(q.Tools) > 0 {
		b.WriteString("<|tools|>")
		b.Write(q.Tools)
	}
	for _, m := range q.Messages {
		b.WriteString("<|" + m.Role + "|>")
		b.Write(plain(m.Content))
		b.WriteString("<|end|>")
	}
	return b.Bytes()
}

// plain is a text as it is meant, and other JSON as it is written.
func plain(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	return raw
}

// refuse answers with an error in OpenAI's form.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": text, "code": status}})
}
