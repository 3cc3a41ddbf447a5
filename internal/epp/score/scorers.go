package score

import "slices"

// neutral is the score of a server that tells nothing: neither a reason to go there nor one to stay away.
const neutral = 0.5

// span is a range of the servers' values. It is never narrower than a bound: one request more or less is no reason to
// leave a prefix.
type span struct{ low, width float64 }

// scorer is one score of one server.
type scorer struct {
	name string
	of   func(s *Ranked) float64
}

// score fills in the scores of all servers.
func (c Config) score(req Request, servers []Ranked) {
	scorers := c.scorers(req, servers)
	all, n := make([]Score, len(servers)*len(scorers)), len(scorers) // one piece of memory for all servers
	for i := range servers {
		s := &servers[i]
		s.Scores = all[i*n : i*n : (i+1)*n]
		for _, by := range scorers {
			value := by.of(s)
			s.Scores = append(s.Scores, Score{by.name, value, c.Weights[by.name]})
			s.Total += value * c.Weights[by.name]
		}
	}
}

// scorers are the scorers that apply: they have a weight, and the servers tell what they need.
func (c Config) scorers(req Request, servers []Ranked) []scorer {
	waiting := spanOf(servers, c.MaxWaiting, func(s *Ranked) (int, bool) { return s.State.Waiting, s.State.Known })
	flying := spanOf(servers, c.MaxInFlight, func(s *Ranked) (int, bool) { return s.InFlight, true })
	known := func(score func(s *Ranked) float64) func(s *Ranked) float64 {
		return func(s *Ranked) float64 {
			if !s.State.Known {
				return neutral
			}
			return score(s)
		}
	}
	all := []scorer{
		{Prefix, func(s *Ranked) float64 { return prefix(req, s) }},
		{Queue, known(func(s *Ranked) float64 { return waiting.free(s.State.Waiting) })},
		{KVCache, known(func(s *Ranked) float64 { return 1 - s.State.KVCache })},
		{Adapter, known(func(s *Ranked) float64 { return adapter(req.Model, s.State) })},
		{InFlight, func(s *Ranked) float64 { return flying.free(s.InFlight) }},
	}
	return slices.DeleteFunc(all, func(by scorer) bool {
		return c.Weights[by.name] == 0 || by.name == Prefix && req.Bytes == 0 ||
			by.name == Adapter && (req.Model == "" || !slices.ContainsFunc(servers, hasAdapters))
	})
}

func prefix(req Request, s *Ranked) float64 {
	if s.Overloaded.Is() || req.Bytes == 0 {
		return 0
	}
	return float64(s.Matched) / float64(req.Bytes)
}

func hasAdapters(s Ranked) bool { return s.State.Adapters > 0 }

func adapter(model string, s State) float64 {
	switch {
	case slices.Contains(s.Loaded, model):
		return 1
	case len(s.Loaded)+len(s.Loading) < s.Adapters:
		return 0.8
	case slices.Contains(s.Loading, model):
		return 0.6
	}
	return 0
}

func spanOf(servers []Ranked, narrowest int, of func(s *Ranked) (value int, known bool)) span {
	low, high, any := 0, 0, false
	for i := range servers {
		v, known := of(&servers[i])
		if !known {
			continue
		}
		if !any {
			low, high, any = v, v, true
		}
		low, high = min(low, v), max(high, v)
	}
	return span{float64(low), float64(max(high-low, narrowest, 1))}
}

// free is 1 for the lowest value.
func (s span) free(value int) float64 { return 1 - (float64(value)-s.low)/s.width }
