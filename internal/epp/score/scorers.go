package score

import "slices"

// neutralScore is the score of a server that tells nothing: neither a reason to go there nor one to stay away.
const neutralScore = 0.5

// valueRange is a range of the servers' values. It is never narrower than a bound: one request more or less is no
// reason to leave a prefix.
type valueRange struct{ low, width float64 }

// scorer is one score of one server.
type scorer struct {
	name    string
	compute func(s *RankedServer) float64
}

// fillScores fills in the scores of all servers.
func (c Config) fillScores(req Request, servers []RankedServer) {
	scorers := c.applicableScorers(req, servers)
	all, n := make([]Score, len(servers)*len(scorers)), len(scorers) // one piece of memory for all servers
	for i := range servers {
		s := &servers[i]
		s.Scores = all[i*n : i*n : (i+1)*n]
		for _, by := range scorers {
			value := by.compute(s)
			s.Scores = append(s.Scores, Score{by.name, value, c.Weights[by.name]})
			s.Total += value * c.Weights[by.name]
		}
	}
}

// applicableScorers are the scorers that apply: they have a weight, and the servers tell what they need.
func (c Config) applicableScorers(req Request, servers []RankedServer) []scorer {
	waiting := valueRangeOf(servers, c.MaxWaiting, func(s *RankedServer) (int, bool) {
		return s.State.Waiting,
			s.State.Known
	})
	flying := valueRangeOf(servers, c.MaxInFlight, func(s *RankedServer) (int, bool) { return s.InFlight, true })
	known := func(score func(s *RankedServer) float64) func(s *RankedServer) float64 {
		return func(s *RankedServer) float64 {
			if !s.State.Known {
				return neutralScore
			}
			return score(s)
		}
	}
	all := []scorer{
		{Prefix, func(s *RankedServer) float64 { return prefixScore(req, s) }},
		{Queue, known(func(s *RankedServer) float64 { return waiting.freeShare(s.State.Waiting) })},
		{KVCache, known(func(s *RankedServer) float64 { return 1 - s.State.KVCache })},
		{Adapter, known(func(s *RankedServer) float64 { return adapterScore(req.Model, s.State) })},
		{InFlight, func(s *RankedServer) float64 { return flying.freeShare(s.InFlight) }},
	}
	return slices.DeleteFunc(all, func(by scorer) bool {
		return c.Weights[by.name] == 0 || by.name == Prefix && req.Bytes == 0 ||
			by.name == Adapter && (req.Model == "" || !slices.ContainsFunc(servers, hasAdapters))
	})
}

func prefixScore(req Request, s *RankedServer) float64 {
	if s.Overloaded.IsSet() || req.Bytes == 0 {
		return 0
	}
	return float64(s.Matched) / float64(req.Bytes)
}

func hasAdapters(s RankedServer) bool { return s.State.Adapters > 0 }

func adapterScore(model string, s State) float64 {
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

func valueRangeOf(servers []RankedServer, narrowest int, of func(s *RankedServer) (value int, known bool)) valueRange {
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
	return valueRange{float64(low), float64(max(high-low, narrowest, 1))}
}

// freeShare is 1 for the lowest value.
func (s valueRange) freeShare(value int) float64 { return 1 - (float64(value)-s.low)/s.width }
