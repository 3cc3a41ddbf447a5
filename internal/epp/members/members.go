package members

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"cardea.dev/cardea/internal/epp/rewrite"
)

// Member is an endpoint of a pool that may be picked.
type Member struct {
	Address string `json:"address"`        // ip:port
	Name    string `json:"name,omitempty"` // of its pod, for people
	Zone    string `json:"zone,omitempty"`
}

// Pool is what a source tells of a pool.
type Pool struct {
	Members []Member `json:"endpoints"`
	// Objectives are the priorities of the InferenceObjectives of the pool, by name.
	Objectives map[string]int `json:"objectives,omitempty"`
	// Rewrites are the pool's InferenceModelRewrites, the one with the highest precedence first.
	Rewrites rewrite.Rewrites `json:"rewrites,omitempty"`
}

// ParsePool reads a file: lines of ip:port ("#" begins a comment), or a JSON object like
//
//	{"endpoints": [{"address": "10.0.0.1:8000", "name": "llm-0", "zone": "a"}], "objectives": {"batch": -1},
//	 "rewrites": [{"name": "canary", "rules": [{"models": ["llama"], "targets": [{"model": "llama-2", "weight": 9}]}]}]}
//
// Addresses are made canonical; those that are named twice count once.
func ParsePool(text []byte) (Pool, error) {
	var pool Pool
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&pool); err != nil {
			return Pool{}, fmt.Errorf("not the expected JSON: %w", err)
		}
	} else {
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			if line = strings.TrimSpace(line); line != "" {
				pool.Members = append(pool.Members, Member{Address: line})
			}
		}
	}
	return pool.normalizePool()
}

func (p Pool) normalizePool() (Pool, error) {
	seen := map[string]bool{}
	members := make([]Member, 0, len(p.Members))
	for i, m := range p.Members {
		address, err := netip.ParseAddrPort(m.Address)
		if err != nil || address.Port() == 0 || address.Addr().Zone() != "" {
			return Pool{}, fmt.Errorf("endpoint %d: %q is no address; want an IP and a port, such as 10.0.0.1:8000",
				i+1, m.Address)
		}
		m.Address = netip.AddrPortFrom(address.Addr().Unmap(), address.Port()).String()
		if !seen[m.Address] {
			seen[m.Address] = true
			members = append(members, m)
		}
	}
	for i, r := range p.Rewrites {
		for j, rule := range r.Rules {
			if err := rule.CheckTargets(); err != nil {
				return Pool{}, fmt.Errorf("rewrite %d, rule %d: %w", i+1, j+1, err)
			}
		}
	}
	p.Members = members
	return p, nil
}
