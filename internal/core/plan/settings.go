package plan

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// Settings are what is stated for all requests of a level, rendered for the data plane that serves them. The levels
// are, from far to near: Gateway, listener, route, rule, backendRef. A nearer setting counts in place of a farther one
// of the same slot and name; all others add up. A collection may be nil: nobody states anything there.
type Settings struct {
	Gateways  *flow.Collection[model.ObjectRef, []Setting]
	Listeners *flow.Collection[model.ListenerKey, []Setting]
	Routes    *flow.Collection[model.ObjectRef, RouteSettings]
	// Shared are the entries of filters that keep state, which all levels of a Gateway share. A setting of such a slot
	// refers to one by its ID.
	Shared *flow.Collection[SharedKey, SharedEntry]
	// Backends is what is stated for backends. A backend for which nothing is stated has no entry.
	Backends *flow.Collection[BackendKey, BackendSettings]
	// Ports is what is stated for the connections of a port's listeners; of HTTPS only what they share, and
	// FilterChains has what is stated for each listener, with what they share. Where nothing is stated there is no entry.
	Ports        *flow.Collection[model.PortKey, ListenerSettings]
	FilterChains *flow.Collection[model.ListenerKey, ListenerSettings]
}

// Setting is what one object states for one filter at one level.
type Setting struct {
	From model.ObjectRef // the object that states it
	Slot string          // the place among the data plane's filters
	Name string          // of the filter, in a slot that holds several; "" in one that is one filter
	Off  bool            // it does not run at this level, whatever a farther one states
	// Lasting: it holds at nearer levels too where the feature is off.
	Lasting bool
	// Config is the filter's configuration. Without a type, the filter runs as the data plane has it.
	Config TypedConfig
	Uses   []model.BackendKey // that it sends requests to
	// CORS is what it says of CORS, in the slot of that; nil: nothing.
	CORS *model.CORS
	// Entries are those that it names of a filter that keeps state, by their IDs. If a proxy refused one of them, what the
	// setting would have held for gets an error.
	Entries []string
}

// TypedConfig is a configuration of a filter, encoded as the data plane has it, and what the data plane calls its type.
type TypedConfig struct {
	Type  string
	Value model.Encoded
}

// RouteSettings are those of a route, of its rules, and of their backendRefs.
type RouteSettings struct {
	Own   []Setting
	Rules []RuleSettings // of those rules that have some
	// AtListeners has the rules with others at some listeners, since broader levels are others there.
	AtListeners []RuleSettingsAtListener
}

// RuleSettingsAtListener are those of rules at a listener, in place of what they have elsewhere.
type RuleSettingsAtListener struct {
	Listener model.ListenerKey
	Rules    []RuleSettings
}

// RuleSettings are those of a rule and, in the order of model.Rule.Backends, of its backendRefs; those at the end that
// have none may be left out.
type RuleSettings struct {
	Rule   model.RuleKey
	Own    []Setting
	Fields model.Encoded // of the data plane's routes, encoded, in place of what is there
	// Backends are those of the backendRefs.
	Backends [][]Setting
	// BackendFields are, of backendRefs in the same order, those of their routes, in place of Fields; nil: Fields.
	BackendFields model.Rope
}

// SharedEntry is what one object states of a filter that keeps state. The data plane merges it with the other entries.
// It has to be valid without them.
type SharedEntry struct {
	From  model.ObjectRef // the object that states it
	Value model.Encoded
	Uses  []model.BackendKey // that it sends requests to
}

// SharedKey names an entry of a Gateway's filter that keeps state.
type SharedKey struct {
	Gateway  model.ObjectRef
	Slot, ID string
}

// BackendSettings are fields of a backend, in place of what the data plane has of its own.
type BackendSettings struct {
	From []model.ObjectRef // the objects that state them, sorted
	BackendFields
}

// BackendFields are fields of a backend.
type BackendFields struct {
	// Fields has a piece for each feature, encoded as the data plane has it.
	Fields  []model.Encoded
	Secrets []BackendSecret
	// Closed: what is stated can't be served, so the backend gets no request.
	Closed bool
}

// IsZero tells whether nothing is stated.
func (f BackendFields) IsZero() bool { return len(f.Fields)+len(f.Secrets) == 0 && !f.Closed }

// Add adds those of another feature.
func (f *BackendFields) Add(other BackendFields) {
	f.Fields, f.Secrets = append(f.Fields, other.Fields...), append(f.Secrets, other.Secrets...)
	f.Closed = f.Closed || other.Closed
}

// BackendSecret is a text that proxies need for a backend, by a name that is unique in a Gateway.
type BackendSecret struct {
	Name string
	Text extend.Bytes
}
