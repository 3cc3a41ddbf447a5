package simulator

import "time"

// Settings say how fast a Server is, and what it serves. A token has 4 bytes.
type Settings struct {
	Name        string        // header x-model-server of its answers
	Model       string        // the base model
	Adapters    []string      // LoRA adapters, which are models by their own names
	MaxAdapters int           // of them, how many can be loaded at a time
	Concurrency int           // requests that are worked on at a time; others wait
	BlockTokens int           // the size of a block of the cache
	CacheBlocks int           // blocks that the cache has
	Start       time.Duration // the time that passes before anything else, whatever is cached: the step under way
	Prefill     time.Duration // the time that a token of a prompt takes that is not cached
	Decode      time.Duration // the time that a token of the answer takes
	Load        time.Duration // the time that it takes to load an adapter
	Tokens      int           // of an answer, if the request does not say
}

// Defaults are the settings of a small, fast model.
func Defaults() Settings {
	return Settings{
		Name: "simulator", Model: "simulated", MaxAdapters: 2, Concurrency: 8, BlockTokens: 16, CacheBlocks: 4096,
		Start: 30 * time.Millisecond, Prefill: 100 * time.Microsecond, Decode: 5 * time.Millisecond,
		Load: 200 * time.Millisecond, Tokens: 16,
	}
}
