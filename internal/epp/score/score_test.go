package score_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/epp/score"
)

func known(waiting int, kv float64) score.State {
	return score.State{Known: true, Waiting: waiting, KVCache: kv}
}

var gone = score.State{Gone: true}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func TestRank(t *testing.T) {
	lora := func(loaded, loading string) score.State {
		s := known(0, 0)
		s.Adapters, s.Loaded, s.Loading = 2, strings.Fields(loaded), strings.Fields(loading)
		return s
	}
	for name, c := range map[string]struct {
		req     score.Request
		servers []score.Candidate
		want    string // endpoints in order, of which "?" may be any
		scores  string // of the first
		way     score.RankMethod
		over    string // why the last one is overloaded
	}{
		"the longest prefix": {
			req: score.Request{Bytes: 4},
			servers: []score.Candidate{
				{Endpoint: "a", State: known(0, 0)}, {Endpoint: "b", State: known(1, 0.2), Matched: 4},
				{Endpoint: "c", State: known(0, 0), Matched: 2},
			},
			want: "b c a", scores: "prefix 1 queue 0.8 kv-cache 0.8 in-flight 1",
		},
		"a conversation stays while its server is at the bounds": {
			req: score.Request{Bytes: 4},
			servers: []score.Candidate{
				{Endpoint: "a", State: known(0, 0)}, {Endpoint: "b", State: known(5, 0.8), Matched: 4, InFlight: 12},
			},
			want: "b a", scores: "prefix 1 queue 0 kv-cache 0.2 in-flight 0",
		},
		"it leaves a server with a longer queue": {
			req: score.Request{Bytes: 4},
			servers: []score.Candidate{
				{Endpoint: "a", State: known(0, 0)}, {Endpoint: "b", State: known(6, 0), Matched: 4},
			},
			want: "a b", scores: "prefix 0 queue 1 kv-cache 1 in-flight 1", over: "6 requests wait, more than 5",
		},
		"and one with a full cache": {
			req: score.Request{Bytes: 4},
			servers: []score.Candidate{
				{Endpoint: "a", State: known(0, 0)}, {Endpoint: "b", State: known(0, 0.81), Matched: 4},
			},
			want: "a b", scores: "prefix 0 queue 1 kv-cache 1 in-flight 1",
			over: "0.81 of the KV cache is in use, more than 0.8",
		},
		"and one that a burst is sent to": {
			req: score.Request{Bytes: 4},
			servers: []score.Candidate{
				{Endpoint: "a", State: known(0, 0)}, {Endpoint: "b", State: known(0, 0), Matched: 4, InFlight: 20},
				{Endpoint: "c", State: known(0, 0)}, {Endpoint: "d", State: known(0, 0)},
			},
			want: "? ? ? b", scores: "prefix 0 queue 1 kv-cache 1 in-flight 1",
			over: "20 requests in flight, more than 2 x 5 + 8",
		},
		"adapters": {
			req: score.Request{Model: "l"},
			servers: []score.Candidate{
				{Endpoint: "none", State: lora("x y", "")}, {Endpoint: "room", State: lora("x", "")},
				{Endpoint: "waits", State: lora("x", "l")}, {Endpoint: "loaded", State: lora("x l", "")},
			},
			want: "loaded room waits none", scores: "queue 1 kv-cache 1 adapter 1 in-flight 1",
		},
		"no adapters, no score for them": {
			req:     score.Request{Model: "m"},
			servers: []score.Candidate{{Endpoint: "a", State: known(3, 0)}, {Endpoint: "b", State: known(1, 0)}},
			want:    "b a", scores: "queue 1 kv-cache 1 in-flight 1",
		},
		"a server that tells nothing is between the others": {
			servers: []score.Candidate{
				{Endpoint: "busy", State: known(9, 0.9)}, {Endpoint: "?"}, {Endpoint: "idle", State: known(0, 0)},
			},
			want: "idle ? busy", scores: "queue 1 kv-cache 1 in-flight 1", over: "9 requests wait, more than 5",
		},
		"who is gone is left": {
			servers: []score.Candidate{{Endpoint: "a", State: gone}, {Endpoint: "b", State: known(9, 0.9)}},
			want:    "b", scores: "queue 1 kv-cache 0.1 in-flight 1", over: "9 requests wait, more than 5",
		},
		"unless all are": {
			servers: []score.Candidate{{Endpoint: "a", State: gone}, {Endpoint: "b", State: gone, InFlight: 1}},
			want:    "a b", scores: "queue 0.5 kv-cache 0.5 in-flight 1", way: score.ByChoice,
		},
		"nothing known but what is in flight": {
			servers: []score.Candidate{{Endpoint: "a", InFlight: 3}, {Endpoint: "b", InFlight: 2}},
			want:    "b a", scores: "queue 0.5 kv-cache 0.5 in-flight 1", way: score.ByChoice,
		},
		"a prefix alone": {
			req:     score.Request{Bytes: 2},
			servers: []score.Candidate{{Endpoint: "a", InFlight: 3, Matched: 2}, {Endpoint: "b"}},
			want:    "a b", scores: "prefix 1 queue 0.5 kv-cache 0.5 in-flight 0.625",
		},
		"nobody": {},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				r := score.DefaultConfig().RankServers(c.req, c.servers, random(seed))
				if got := order(r, c.want); got != c.want {
					t.Errorf("order %s, want %s", got, c.want)
				}
				if len(r.Servers) == 0 {
					continue
				}
				scores := ""
				for _, s := range r.Servers[0].Scores {
					scores += fmt.Sprintf("%s %.3g ", s.Name, s.Value)
				}
				if got := strings.TrimSpace(scores); got != c.scores {
					t.Errorf("scores %s, want %s", got, c.scores)
				}
				if c.way != "" && r.Method != c.way || c.way == "" && r.Method != score.ByScores {
					t.Errorf("way %s", r.Method)
				}
				if got := r.Servers[len(r.Servers)-1].Overloaded.String(); got != c.over {
					t.Errorf("overloaded: %q, want %q", got, c.over)
				}
			}
		})
	}
}

// order joins the endpoints; where want has "?", any is shown as that.
func order(r score.Ranking, want string) string {
	wanted := strings.Fields(want)
	var got []string
	for i, s := range r.Servers {
		if i < len(wanted) && wanted[i] == "?" {
			got = append(got, "?")
		} else {
			got = append(got, s.Endpoint)
		}
	}
	return strings.Join(got, " ")
}

func TestShed(t *testing.T) {
	full := score.Candidate{Endpoint: "a", State: known(6, 0)}
	hot := score.Candidate{Endpoint: "b", State: known(0, 0.9)}
	free := score.Candidate{Endpoint: "c", State: known(5, 0.8)}
	for name, c := range map[string]struct {
		servers         []score.Candidate
		priority        int
		saturated, shed bool
	}{
		"one has room":            {[]score.Candidate{full, hot, free}, -1, false, false},
		"none has room":           {[]score.Candidate{full, hot}, -1, true, true},
		"who is not sheddable":    {[]score.Candidate{full, hot}, 0, true, false},
		"one tells nothing":       {[]score.Candidate{full, {Endpoint: "d"}}, -1, false, false},
		"who has room is gone":    {[]score.Candidate{full, {Endpoint: "d", State: gone}}, -1, true, true},
		"nobody is not saturated": {nil, -1, false, false},
	} {
		r := score.DefaultConfig().RankServers(score.Request{Priority: c.priority}, c.servers, random(1))
		if r.Saturated != c.saturated || r.Shed != c.shed {
			t.Errorf("%s: saturated %v, shed %v", name, r.Saturated, r.Shed)
		}
	}
}

// TestRankProperties: over random pools, the order has each server that is not gone once; scores are from 0 to 1; and a
// server that knows the whole prompt and is not overloaded comes before all that know nothing of it.
func TestRankProperties(t *testing.T) {
	rnd := random(3)
	for range 20_000 {
		var servers []score.Candidate
		alive := 0
		for i := range rnd.IntN(6) {
			s := score.Candidate{
				Endpoint: fmt.Sprint(i),
				State: score.State{
					Known: rnd.IntN(4) > 0, Gone: rnd.IntN(5) == 0, Waiting: rnd.IntN(12), KVCache: rnd.Float64(),
				},
				InFlight: rnd.IntN(30), Matched: 4 * rnd.IntN(2),
			}
			servers = append(servers, s)
			if !s.State.Gone {
				alive++
			}
		}
		if alive == 0 {
			alive = len(servers)
		}
		r := score.DefaultConfig().RankServers(score.Request{Bytes: 4}, servers, rnd)
		seen := map[string]bool{}
		worse := false
		for _, s := range r.Servers {
			seen[s.Endpoint] = true
			for _, v := range s.Scores {
				if v.Value < 0 || v.Value > 1 {
					t.Fatalf("%s is %v of %+v", v.Name, v.Value, s.Candidate)
				}
			}
			stays := s.Matched == 4 && !s.Overloaded.IsSet()
			if stays && worse {
				t.Fatalf("%s, which knows the prompt, comes late: %+v", s.Endpoint, r.Servers)
			}
			worse = worse || s.Matched == 0 || s.Overloaded.IsSet()
		}
		if len(seen) != alive || len(r.Servers) != alive {
			t.Fatalf("%d of %d servers: %+v", len(seen), alive, r.Servers)
		}
	}
}

// TestTwoChoices: without any knowledge, every server is chosen, and the most loaded one never.
func TestTwoChoices(t *testing.T) {
	servers := []score.Candidate{
		{Endpoint: "a"}, {Endpoint: "b", InFlight: 1}, {Endpoint: "c", InFlight: 2}, {Endpoint: "d", InFlight: 9},
	}
	first := map[string]int{}
	rnd := random(4)
	for range 2000 {
		first[score.DefaultConfig().RankServers(score.Request{}, servers, rnd).Servers[0].Endpoint]++
	}
	if first["d"] > 0 || first["a"] < first["b"] || first["b"] < first["c"] || first["c"] == 0 {
		t.Errorf("chosen: %v", first)
	}
}

// TestAllocations: more servers take larger pieces of memory, not more of them.
func TestAllocations(t *testing.T) {
	pieces := func(n int) float64 {
		servers := make([]score.Candidate, n)
		for i := range servers {
			servers[i] = score.Candidate{Endpoint: fmt.Sprint(i), State: known(i%10, 0.5)} // half of them are overloaded
		}
		rnd := random(6)
		return testing.AllocsPerRun(10, func() {
			score.DefaultConfig().RankServers(score.Request{Bytes: 10, Model: "m"},
				servers, rnd)
		})
	}
	if few, many := pieces(8), pieces(400); many > few {
		t.Errorf("%v allocations for 400 servers, %v for 8", many, few)
	}
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{8, 1000} {
		servers := make([]score.Candidate, n)
		for i := range servers {
			servers[i] = score.Candidate{Endpoint: fmt.Sprint(i), State: known(i%5, float64(i%7)/10), InFlight: i % 4}
		}
		b.Run(fmt.Sprint("servers=", n), func(b *testing.B) {
			rnd := random(5)
			for b.Loop() {
				score.DefaultConfig().RankServers(score.Request{Bytes: 10, Model: "m"}, servers, rnd)
			}
		})
	}
}
