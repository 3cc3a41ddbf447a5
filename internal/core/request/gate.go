package request

import "cardea.dev/cardea/internal/core/model"

// Gates tell what features of policies do with requests, where the configuration of a proxy does not.
type Gates struct {
	Levels map[GateKey]Gate                   // what is stated for many rules
	Rules  map[model.RuleKey]map[GateKey]Gate // for one; it counts first
}

// GateKey names a filter by its place and its configuration, as proxies have it.
type GateKey struct {
	Slot, Name   string
	Type, Config string // of the configuration; "": the filter is turned on
}

// ListenerSlot is the place of filters that are before all slots, whatever route takes the request.
const ListenerSlot = "listener"

// Gate is a feature that a filter belongs to. A feature may have several filters; the first one is asked.
type Gate struct {
	Feature string // "SecurityPolicy.jwt"
	Judge   func(Request) []Verdict
}

// FindGate finds the gate of a filter at a rule.
func (g Gates) FindGate(rule model.RuleKey, key GateKey) (Gate, bool) {
	if gate, found := g.Rules[rule][key]; found {
		return gate, true
	}
	gate, found := g.Levels[key]
	return gate, found
}

// AnyStatus is that of an answer which somebody else makes.
const AnyStatus = -1

// Verdict is what a proxy does with a request because of a feature. The zero Verdict: it lets it pass.
type Verdict struct {
	Status int `json:"status,omitempty"` // that answers it; 0: it passes; AnyStatus: one that can't be told
	// If is what decides that can't be told, "the token is accepted by corp": if so the request passes, else it gets
	// Status. Without a Status it passes all the same, and what the backend gets depends on it.
	If string `json:"if,omitempty"`
	// RefusedIf is the opposite of If, "limit a is used up": if so the request gets Status, else it passes.
	RefusedIf string `json:"refusedIf,omitempty"`
	// Why says of an answer that is certain what the request lacks, "it has no API key"; "": nothing is told.
	Why string `json:"why,omitempty"`
	// Shadow is what would do so and refuses nothing, "authorization.deny[watched] in mode Shadow": the request passes.
	Shadow string `json:"shadow,omitempty"`
	// At is the slot of the filter that does so, if it may be a later one than the feature's first; "": that one.
	At string `json:"-"`
	// ByAddress: the client's address decides that. An explanation of it must say where the address is from.
	ByAddress bool `json:"-"`
}

// IsUndecided tells whether what decides can't be told.
func (v Verdict) IsUndecided() bool { return v.If != "" || v.RefusedIf != "" }
