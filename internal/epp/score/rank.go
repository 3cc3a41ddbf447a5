package score

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Rank orders candidates. Those of equal scores come in a random order, so that several pickers, or requests that are
// decided before load is told again, do not all choose the same one.
func (c Config) Rank(req Request, candidates []Candidate, rnd *rand.Rand) Ranking {
	servers := alive(candidates)
	rnd.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	c.guard(servers)
	r := Ranking{Servers: servers, Way: ByScores, Saturated: c.saturated(servers)}
	r.Shed = r.Saturated && req.Priority < 0
	if !slices.ContainsFunc(servers, func(s Ranked) bool { return s.State.Known || s.Matched > 0 && !s.Overloaded.Is() }) {
		r.Way = ByChoice
	}
	c.score(req, servers)
	if r.Way == ByChoice {
		choose(servers)
		return r
	}
	// It need not be stable, as those of equal scores are in a random order before; a stable sort takes twice the time.
	slices.SortFunc(servers, func(a, b Ranked) int { return cmp.Compare(b.Total, a.Total) })
	return r
}

// alive leaves out the servers that are gone. If all are, it is more likely that their metrics can't be had than that
// nobody serves, so all stay.
func alive(candidates []Candidate) []Ranked {
	servers := make([]Ranked, 0, len(candidates))
	for _, s := range candidates {
		if !s.State.Gone {
			servers = append(servers, Ranked{Candidate: s})
		}
	}
	if len(servers) == 0 {
		for _, s := range candidates {
			servers = append(servers, Ranked{Candidate: s})
		}
	}
	return servers
}

// choose puts the less loaded one of the first two (of a random order) first; the rest follows by load.
func choose(servers []Ranked) {
	load := func(a, b Ranked) int { return cmp.Compare(a.InFlight, b.InFlight) }
	if len(servers) < 2 {
		return
	}
	if load(servers[1], servers[0]) < 0 {
		servers[0], servers[1] = servers[1], servers[0]
	}
	slices.SortStableFunc(servers[1:], load)
}
