package score

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// RankServers orders candidates. Those of equal scores come in a random order, so that several pickers, or requests
// that are decided before load is told again, do not all choose the same one.
func (c Config) RankServers(req Request, candidates []Candidate, rnd *rand.Rand) Ranking {
	servers := dropGone(candidates)
	rnd.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	c.markOverloaded(servers)
	r := Ranking{Servers: servers, Method: ByScores, Saturated: c.isSaturated(servers)}
	r.Shed = r.Saturated && req.Priority < 0
	if !slices.ContainsFunc(servers, func(s RankedServer) bool {
		return s.State.Known || s.Matched > 0 &&
			!s.Overloaded.IsSet()
	}) {
		r.Method = ByChoice
	}
	c.fillScores(req, servers)
	if r.Method == ByChoice {
		orderByChoice(servers)
		return r
	}
	// It need not be stable, as those of equal scores are in a random order before; a stable sort takes twice the time.
	slices.SortFunc(servers, func(a, b RankedServer) int { return cmp.Compare(b.Total, a.Total) })
	return r
}

// dropGone leaves out the servers that are gone. If all are, it is more likely that their metrics can't be had than
// that nobody serves, so all stay.
func dropGone(candidates []Candidate) []RankedServer {
	servers := make([]RankedServer, 0, len(candidates))
	for _, s := range candidates {
		if !s.State.Gone {
			servers = append(servers, RankedServer{Candidate: s})
		}
	}
	if len(servers) == 0 {
		for _, s := range candidates {
			servers = append(servers, RankedServer{Candidate: s})
		}
	}
	return servers
}

// orderByChoice puts the less loaded one of the first two (of a random order) first; the rest follows by load.
func orderByChoice(servers []RankedServer) {
	load := func(a, b RankedServer) int { return cmp.Compare(a.InFlight, b.InFlight) }
	if len(servers) < 2 {
		return
	}
	if load(servers[1], servers[0]) < 0 {
		servers[0], servers[1] = servers[1], servers[0]
	}
	slices.SortStableFunc(servers[1:], load)
}
