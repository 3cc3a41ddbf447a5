package epp

import (
	"maps"
	"slices"
)

// mostUnreached is how many endpoints an Unreached names.
const mostUnreached = 3

// Unreached says which endpoints of the pool don't answer when they are asked for their load. It is JSON at /unreached.
type Unreached struct {
	Endpoints int           `json:"endpoints"` // of the pool
	Count     int           `json:"count"`     // of those that don't answer
	First     []Unanswering `json:"first"`     // some of them, sorted
	// NoToken says why no token can be read, and whether endpoints are asked with the one from before; "": it can be, or
	// none is stated.
	NoToken string `json:"noToken,omitempty"`
}

// Unanswering is an endpoint that does not answer.
type Unanswering struct {
	Endpoint string `json:"endpoint"`
	Why      string `json:"why"`
}

func (p *Picker) unreached() Unreached {
	u := Unreached{First: []Unanswering{}, NoToken: p.cfg.Load.NoToken()}
	if pool := p.pool.Load(); pool != nil {
		u.Endpoints = len(pool.addresses)
	}
	gone := p.cfg.Load.Gone()
	u.Count = len(gone)
	for _, endpoint := range slices.Sorted(maps.Keys(gone))[:min(len(gone), mostUnreached)] {
		u.First = append(u.First, Unanswering{endpoint, gone[endpoint]})
	}
	return u
}
