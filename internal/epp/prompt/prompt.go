package prompt

import (
	"slices"
	"strings"
)

// Kind is what a request asks for.
type Kind int

// The kinds of requests that have their bodies read. Other is everything else: it is balanced by load alone.
const (
	Other      Kind = iota
	Chat            // OpenAI's chat completions
	Completion      // OpenAI's completions
	Embedding       // OpenAI's embeddings
	Responses       // OpenAI's responses
	Messages        // Anthropic's messages
)

// String is the name of the kind for people.
func (k Kind) String() string {
	switch k {
	case Chat:
		return "chat"
	case Completion:
		return "completion"
	case Embedding:
		return "embedding"
	case Responses:
		return "response"
	case Messages:
		return "message"
	case Other:
	}
	return "other"
}

// Request is what a body says.
type Request struct {
	Kind      Kind
	Model     string // "" if it is not stated, or not in the part that was read
	Text      []byte // what the server would feed to the model, in an order of this package; at most max bytes
	Stream    bool   // the answer is wanted as server-sent events
	MaxTokens int    // the longest answer, in tokens; 0: not stated
	Complete  bool   // the body is JSON and was read to its end

	model span // where the model stands in the body; zero: it does not
}

// KindOf is the kind of a request by its path, such as /v1/chat/completions. A prefix of the API's own path does not
// count, as gateways may add one.
func KindOf(path string) Kind {
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimSuffix(path, "/")
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat
	case strings.HasSuffix(path, "/completions"):
		return Completion
	case strings.HasSuffix(path, "/embeddings"):
		return Embedding
	case strings.HasSuffix(path, "/responses"):
		return Responses
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/messages/count_tokens"):
		return Messages
	}
	return Other
}

// Parse reads a body, or the beginning of one. It keeps max bytes of the text. Tools and instructions for the whole
// conversation come first in the text, as in chat templates; then the messages follow in their order.
func Parse(path string, body []byte, max int) Request {
	r := Request{Kind: KindOf(path)}
	if r.Kind == Other {
		return r
	}
	p := newParser(body, max)
	r.Complete = p.readBody(&r) == nil
	r.Text = p.text.bytes
	if len(p.tools.bytes)+len(p.system.bytes) > 0 { // else a long text need not be copied
		r.Text = slices.Concat(p.tools.bytes, p.system.bytes, p.text.bytes)
	}
	r.Text = r.Text[:min(len(r.Text), max)]
	return r
}
