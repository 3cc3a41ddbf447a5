package epp

import (
	"maps"
	"slices"
)

// maxUnreached is how many endpoints an UnreachedEndpoints names.
const maxUnreached = 3

// UnreachedEndpoints says which endpoints of the pool don't answer when they are asked for their load. It is JSON at
// /unreached.
type UnreachedEndpoints struct {
	Endpoints int              `json:"endpoints"` // of the pool
	Count     int              `json:"count"`     // of those that don't answer
	First     []FailedEndpoint `json:"first"`     // some of them, sorted
	// DescribeTokenError says why no token can be read, and whether endpoints are asked with the one from before; "": it
	// can be, or none is stated.
	NoToken string `json:"noToken,omitempty"`
}

// FailedEndpoint is an endpoint that does not answer.
type FailedEndpoint struct {
	Endpoint string `json:"endpoint"`
	Why      string `json:"why"`
}

func (p *Picker) listUnreached() UnreachedEndpoints {
	u := UnreachedEndpoints{First: []FailedEndpoint{}, NoToken: p.cfg.Load.DescribeTokenError()}
	if pool := p.pool.Load(); pool != nil {
		u.Endpoints = len(pool.addresses)
	}
	gone := p.cfg.Load.FailedEndpoints()
	u.Count = len(gone)
	for _, endpoint := range slices.Sorted(maps.Keys(gone))[:min(len(gone), maxUnreached)] {
		u.First = append(u.First, FailedEndpoint{endpoint, gone[endpoint]})
	}
	return u
}
