package epp

import (
	"net/http"
	"slices"

	"cardea.dev/cardea/internal/epp/prefix"
	"cardea.dev/cardea/internal/epp/prompt"
	"cardea.dev/cardea/internal/epp/rewrite"
	"cardea.dev/cardea/internal/epp/score"
)

// maxTextBytes bounds the text of a prompt that counts, in bytes. A body that the picker waits for is shorter by
// default; one that a gateway buffers may be longer.
const maxTextBytes = 4 << 20

// call is what is known of a request when its endpoint is picked.
type call struct {
	path             string
	header           func(name string) string
	body             []byte   // or its beginning
	allowedEndpoints []string // the endpoints that the gateway allows
	restricted       bool     // it allows no others
}

// decision is what becomes of a request.
type decision struct {
	refused   *refusal       // nil: it is sent
	endpoints []string       // the best one, and its fallbacks
	parsed    prompt.Request // what the client sent
	model     string         // that the request gets
	rewrite   rewrite.Choice // why that is another one than it asked for; zero: it is not
	body      []byte         // with that model; nil: the client's own
	priority  int
	blocks    []uint64
	bytes     int // of the blocks
	ranking   score.Ranking
}

// refusal is an answer in the gateway's name.
type refusal struct {
	status int
	code   string // a word for metrics and logs
	text   string
}

// decideCall picks endpoints. It changes nothing: begin does.
func (p *Picker) decideCall(c call) decision {
	pool := p.pool.Load()
	if pool == nil {
		why := &refusal{http.StatusServiceUnavailable, "NotReady", "the members of the pool are not known yet"}
		return decision{refused: why}
	}
	d := decision{priority: p.cfg.Priorities.PriorityOf(c.header, pool.objectives)}
	endpoints := pool.addresses
	if c.restricted {
		endpoints = filterAllowed(endpoints, c.allowedEndpoints)
	}
	states := make([]score.State, len(endpoints))
	for i, e := range endpoints {
		states[i] = p.cfg.Load.StateOf(e)
	}
	hasher := prefix.Hasher{Seed: p.seed, BlockSize: p.blockSize(states), BlocksPerSize: prefix.DefaultBlocksPerSize}
	d.parsed = prompt.Parse(c.path, c.body, maxTextBytes)
	random := p.cfg.random()
	d.model = d.parsed.Model
	if choice, found := pool.rewrites.ChooseModel(d.model, random); found && choice.Model != d.model {
		if d.body = d.parsed.WithModel(c.body, choice.Model); d.body != nil {
			d.model, d.rewrite = choice.Model, choice
		}
	}
	d.blocks = hasher.HashBlocks(d.model, d.parsed.Text)
	d.bytes = hasher.PrefixBytes(len(d.blocks))
	if len(endpoints) == 0 {
		d.refused = &refusal{http.StatusServiceUnavailable, "NoEndpoint", "no endpoint of the pool is ready"}
		if c.restricted {
			d.refused.text = "no endpoint that the gateway allows is ready in the pool"
		}
		return d
	}
	matched := p.index.MatchServers(d.blocks, endpoints)
	flying := p.flights.countsOf(endpoints)
	candidates := make([]score.Candidate, len(endpoints))
	for i, e := range endpoints {
		candidates[i] = score.Candidate{Endpoint: e, State: states[i], Matched: hasher.PrefixBytes(matched[i]),
			InFlight: flying[i]}
	}
	request := score.Request{Model: d.model, Bytes: d.bytes, Priority: d.priority}
	d.ranking = p.cfg.Score.RankServers(request, candidates, random)
	for _, s := range d.ranking.Servers[:min(len(d.ranking.Servers), 1+p.cfg.Fallbacks)] {
		d.endpoints = append(d.endpoints, s.Endpoint)
	}
	if d.ranking.Shed {
		d.refused = &refusal{http.StatusTooManyRequests, "Shed", "all model servers are busy, and the request may be refused"}
	}
	return d
}

// filterAllowed is the part of the pool that the gateway allows. An endpoint that it names and that is not in the pool
// never counts.
func filterAllowed(pool, only []string) []string {
	return slices.DeleteFunc(slices.Clone(only), func(e string) bool { return !slices.Contains(pool, e) })
}

// blockSize is the size of a block of a prompt, in bytes. If servers tell different sizes, the smallest one counts.
func (p *Picker) blockSize(states []score.State) int {
	if p.cfg.BlockSize > 0 {
		return p.cfg.BlockSize
	}
	size := 0
	for _, s := range states {
		if s.BlockBytes > 0 && (size == 0 || s.BlockBytes < size) {
			size = s.BlockBytes
		}
	}
	return max(size, prefix.DefaultBlockSize)
}
