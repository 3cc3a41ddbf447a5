package prefix

import (
	"sort"
	"sync"
)

// Index knows which blocks each server was sent. A server is a word to it.
type Index struct {
	capacity int

	mu      sync.Mutex
	servers map[string]*recentBlocks
}

// NewIndex makes an Index that keeps capacity blocks of each server.
func NewIndex(capacity int) *Index {
	return &Index{capacity: max(1, capacity), servers: map[string]*recentBlocks{}}
}

// MatchServers says for each server how many blocks of a prompt it knows, from the first one on.
//
// A server that knows a block knows the blocks before it, as they are used after it and so leave later (see Add).
// Therefore a few looks find the end of what is known.
func (x *Index) MatchServers(blocks []uint64, servers []string) []int {
	matched := make([]int, len(servers))
	if len(blocks) == 0 {
		return matched
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, name := range servers {
		if known := x.servers[name]; known != nil && known.hasBlock(blocks[0]) {
			matched[i] = sort.Search(len(blocks), func(b int) bool { return !known.hasBlock(blocks[b]) })
		}
	}
	return matched
}

// AddPrompt says that a server is sent a prompt. It returns how many blocks the server knew before.
func (x *Index) AddPrompt(server string, blocks []uint64) (known int) {
	if len(blocks) == 0 {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.servers[server]
	if r == nil {
		r = newRecentBlocks(x.capacity)
		x.servers[server] = r
	}
	known = sort.Search(len(blocks), func(b int) bool { return !r.hasBlock(blocks[b]) })
	// The end of a prompt is of use to the fewest others, so it must leave first: the beginning is used last.
	for i := min(len(blocks), x.capacity) - 1; i >= 0; i-- {
		r.useBlock(blocks[i])
	}
	return known
}

// RetractPrompt undoes an Add: the server was not sent the prompt after all. known is what Add returned. If another
// request used the same blocks in between, they are forgotten, too; that costs a match.
func (x *Index) RetractPrompt(server string, blocks []uint64, known int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.servers[server]; r != nil {
		for i := len(blocks) - 1; i >= known; i-- {
			r.dropBlock(blocks[i])
		}
	}
}

// KeepServers forgets all servers but those that keep names.
func (x *Index) KeepServers(keep func(server string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range x.servers {
		if !keep(name) {
			delete(x.servers, name)
		}
	}
}

// Len is the number of blocks known, summed over all servers.
func (x *Index) Len() (blocks int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.servers {
		blocks += len(r.index)
	}
	return blocks
}
