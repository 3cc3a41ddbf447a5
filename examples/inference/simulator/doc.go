// Package simulator is a model server without a model: it answers OpenAI's chat completions, completions and embeddings
// with words that mean nothing, in the time that its cache, its queue and its settings make it take.
//
// What is real: a cache of the prompts' blocks (the least recently used ones leave), so a prompt whose beginning is
// cached is answered sooner; a queue with a bound on the requests that are worked on; LoRA adapters that must be
// loaded; streaming; and metrics with vLLM's names. It is for examples and tests of pickers.
//
// Start reading at Server.generate.
package simulator
