// Package prompt reads what a request asks of a model server: OpenAI's chat completions, completions, embeddings and
// responses, and Anthropic's messages.
//
// It owns the order in which the parts of a request become one text, since servers may have cached the beginning of
// that text, and giving a body another model. It must never know servers, Envoy or where the bytes come from. It is
// pure: any goroutine may call it.
//
// A body may be cut off (a picker that streams reads the beginning only) or be no JSON at all. Then what was read
// before that counts: there are no errors. Start reading at Parse.
package prompt
