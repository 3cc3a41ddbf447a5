package epp

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/epp/score"
)

// TestConversationsStay: 40 conversations of 10 turns, whose beginning (a system prompt and tools) is common to all of
// them, among 4 servers that tell their load. However long the beginning is, a turn goes where the one before it went:
// only that server knows what is the conversation's own.
func TestConversationsStay(t *testing.T) {
	for name, c := range map[string]struct {
		beginning, turn int
		want            float64
	}{
		"nothing in common": {0, 1600, 0.95},
		"8 kB in common":    {8_000, 1600, 0.95},
		"20 kB in common":   {20_000, 1600, 0.95},
		"40 kB, of 42":      {40_000, 1600, 0.9}, // at first, a conversation's own part is worth less than a short queue
		"200 kB of its own": {8_000, 20_000, 0.95},
	} {
		t.Run(name, func(t *testing.T) {
			talks := talks{servers: 4, count: 40, turns: 10, beginning: c.beginning, turn: c.turn}
			if stay := staying(t, talks); stay < c.want {
				t.Errorf("%.2f of the turns went where the one before went, want %.2f", stay, c.want)
			}
		})
	}
}

// talks are conversations that go on at a time.
type talks struct{ servers, count, turns, beginning, turn int } // beginning and turn in bytes

// turns are what happens, by time in ms: a turn of a conversation begins, or its answer ends.
type turns []turn

type turn struct {
	at     int
	talk   int
	answer *inFlightRequest // that ends; nil: the turn begins
}

func (q turns) Len() int           { return len(q) }
func (q turns) Less(i, j int) bool { return q[i].at < q[j].at }
func (q turns) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *turns) Push(x any)        { *q = append(*q, x.(turn)) }
func (q *turns) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// staying has conversations and returns the part of their turns, but the first, that went where the one before went.
func staying(t *testing.T, c talks) float64 {
	t.Helper()
	load, rnd := &loads{}, rand.New(rand.NewPCG(1, 2))
	var endpoints []string
	for i := range c.servers {
		endpoints = append(endpoints, fmt.Sprintf("10.0.0.%d:1", i+1))
	}
	p := newPicker(t, load, endpoints...)
	p.cfg.random = func() *rand.Rand { return rand.New(rand.NewPCG(rnd.Uint64(), 1)) }
	next, said, homes, done := &turns{}, make([]string, c.count), make([]string, c.count), make([]int, c.count)
	for i := range c.count {
		said[i] = strings.Repeat("You are a helpful assistant. ", c.beginning/29)
		heap.Push(next, turn{at: rnd.IntN(500), talk: i})
	}
	stayed, all := 0, 0
	for next.Len() > 0 {
		now := heap.Pop(next).(turn)
		if now.answer != nil {
			now.answer.end()
			if done[now.talk]++; done[now.talk] < c.turns {
				heap.Push(next, turn{at: now.at + 200 + rnd.IntN(400), talk: now.talk})
			}
			continue
		}
		for i, n := range p.flights.countsOf(endpoints) {
			load.set(endpoints[i], score.State{Known: true, Running: n, KVCache: float64(n) / 100})
		}
		said[now.talk] += strings.Repeat(fmt.Sprintf("%08x", rnd.Uint32()), c.turn/8)
		request := request("", 0)
		request.path, request.body = "/v1/completions", fmt.Appendf(nil, `{"model":"m","prompt":%q}`, said[now.talk])
		d := p.decideCall(request)
		if home := homes[now.talk]; home != "" {
			all++
			if home == d.endpoints[0] {
				stayed++
			}
		}
		homes[now.talk] = d.endpoints[0]
		heap.Push(next, turn{at: now.at + 100 + rnd.IntN(200), talk: now.talk, answer: p.trackRequest(d)})
	}
	if want := c.count * (c.turns - 1); all != want {
		t.Fatalf("%d turns after the first, want %d", all, want)
	}
	return float64(stayed) / float64(all)
}
