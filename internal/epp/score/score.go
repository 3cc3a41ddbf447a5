package score

// State is what a server tells of itself. The zero State is unknown.
type State struct {
	Known      bool     `json:"known"`                // the rest was told, and not long ago
	Gone       bool     `json:"gone,omitempty"`       // it does not answer any more
	Waiting    int      `json:"waiting"`              // requests in its queue
	Running    int      `json:"running"`              // requests that it works on
	KVCache    float64  `json:"kvCache"`              // the part of its KV cache in use, 0 to 1
	Adapters   int      `json:"adapters,omitempty"`   // how many LoRA adapters it can have loaded; 0: it has none
	Loaded     []string `json:"loaded,omitempty"`     // adapters
	Loading    []string `json:"loading,omitempty"`    // adapters that requests wait for
	BlockBytes int      `json:"blockBytes,omitempty"` // the size of a block of its cache, estimated; 0: unknown
}

// Candidate is a server that may take the request.
type Candidate struct {
	Endpoint string // ip:port
	State    State
	Matched  int // bytes of the prompt that it knows, from the first one on
	InFlight int // requests that this picker sent there and that go on
}

// Request is what counts of a request.
type Request struct {
	Model    string
	Bytes    int // of the prompt that servers may know
	Priority int // below 0: it is shed when all servers are saturated
}

// The names of the scores.
const (
	Prefix   = "prefix"
	Queue    = "queue"
	KVCache  = "kv-cache"
	Adapter  = "adapter"
	InFlight = "in-flight"
)

// Names lists the scores.
var Names = []string{Prefix, Queue, KVCache, Adapter, InFlight}

// Config says what weighs how much.
type Config struct {
	Weights    map[string]float64 // by name; a score that is not named weighs nothing
	MaxWaiting int                // a server with a longer queue is overloaded
	MaxKVCache float64            // a server that uses a larger part of its KV cache is overloaded
	// MaxInFlight: a server is overloaded, too, that has more requests of this picker than twice the mean and this
	// many. This bound holds at once, before a server tells of its queue, and it is the only one if a server tells
	// nothing.
	MaxInFlight int
}

// DefaultConfig is what counts unless a flag says otherwise. The two bounds are the published ones of the Gateway API
// Inference Extension's saturation detector.
func DefaultConfig() Config {
	return Config{
		Weights:    map[string]float64{Prefix: 3, Queue: 1, KVCache: 1, Adapter: 1, InFlight: 0.5},
		MaxWaiting: 5, MaxKVCache: 0.8, MaxInFlight: 8,
	}
}

// RankedServer is a candidate with its scores.
type RankedServer struct {
	Candidate
	Total      float64
	Scores     []Score
	Overloaded Overload // if it is, the prefix does not count for this server
}

// Score is one of the scores of a server.
type Score struct {
	Name          string
	Value, Weight float64 // Value is 0 to 1
}

// RankMethod is how an order was found.
type RankMethod string

// The ways.
const (
	ByScores RankMethod = "scores"
	ByChoice RankMethod = "the less loaded of two random servers, as nothing is known"
)

// Ranking is the answer to a request.
type Ranking struct {
	Servers   []RankedServer // the best one first; without those that are gone, unless all are
	Method    RankMethod
	Saturated bool // all servers are over a bound
	Shed      bool // they are, and the request may be refused for that
}
