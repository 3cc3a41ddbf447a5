package resource

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// AckKey names an origin's fragment in one resource.
type AckKey struct {
	Resource Key
	Origin   Origin
	Variant  string
}

// TableAckKey names the row of a route table itself, of hash 0: all connected proxies acknowledged some version of it.
// It leaves with the table.
func TableAckKey(table Key) AckKey { return AckKey{Resource: table} }

// RefusalKey names content that a Gateway's proxy refused.
type RefusalKey struct {
	Gateway model.ObjectRef
	Origin  Origin
	Variant string
	Hash    uint64
}

// HoldsOther tells whether a resource holds other content of the origin of content that was refused.
func (r Resource) HoldsOther(refused RefusalKey) bool {
	return slices.ContainsFunc(r.Parts, func(p *Part) bool {
		return slices.ContainsFunc(p.Fragments, func(f Fragment) bool {
			return f.Origin == refused.Origin && f.Variant == refused.Variant && f.Hash != refused.Hash && !f.Refused
		})
	})
}

// RefusalKind says what a refusal is about.
type RefusalKind uint8

// The kinds of refusals. All but the first are about an address that the proxy could not bind, which is between it and
// its machine: the same content is sent again later.
const (
	ContentRefused RefusalKind = iota
	PortTaken                  // by another process
	PortForbidden              // the proxy lacks a privilege
	AddressUnknown             // the machine does not have the address
)

// Refusal is what the proxy said.
type Refusal struct {
	Kind    RefusalKind
	Type    Type
	Name    string // of the resource that was refused
	Version string // the proxy's version
	Message string // its words
}

// ProxySummary sums up the proxies that are connected for one Gateway.
type ProxySummary struct {
	Connected    int
	Acknowledged int    // that have acknowledged a whole configuration since they connected
	Version      string // the oldest version connected
}

// ConnectedProxy is a connected proxy, and how far it is with a resource.
type ConnectedProxy struct {
	Node         string // of xDS: in a cluster the pod's name
	Version      string // of the proxy
	Acknowledged bool   // the resource, as it is now
}

// WrittenFiles is what is known of a Gateway with proxies that read files: they acknowledge nothing.
type WrittenFiles struct {
	Where string    // "ConfigMap infra/edge-files", or a folder
	At    time.Time // when a file was changed last; zero: nothing is written yet
	// TooLarge says why what is current can't be written, with figures; "" if it can. The files that were written last
	// stay.
	TooLarge string
}

// Feedback is what proxies said, as sources: it comes back in a later turn.
type Feedback struct {
	// Acked holds the hash of a fragment that all connected proxies acknowledged last. An entry leaves when its
	// resource does not hold the fragment any more. Route tables have rows of their own (TableAckKey).
	Acked *flow.Source[AckKey, uint64]
	// Refused holds what was refused. An entry leaves when no resource has that content any more, when the proxy that
	// refused it is gone, or when there is another reason to try it again.
	Refused *flow.Source[RefusalKey, Refusal]
	// Proxies holds an entry for each Gateway that had a connection.
	Proxies *flow.Source[model.ObjectRef, ProxySummary]

	// InFiles is Acked for Gateways with proxies that read files: the hash of a fragment as it was written last. While
	// such a Gateway's proxies are replaced, others of it may be connected, so the rows are apart.
	InFiles *flow.Source[AckKey, uint64]
	// Written holds an entry for each Gateway with proxies that read files.
	Written *flow.Source[model.ObjectRef, WrittenFiles]
}

// AckedBy has the content that the proxies of a data plane have: what they acknowledged or, if they acknowledge
// nothing, what was written.
func (f *Feedback) AckedBy(d model.DataPlane) *flow.Collection[AckKey, uint64] {
	if d.ReadsFiles {
		return f.InFiles.Collection()
	}
	return f.Acked.Collection()
}

// NewFeedback makes the sources. They have nothing to load, so they are synced at once.
func NewFeedback(g *flow.Graph) *Feedback {
	f := &Feedback{
		Acked:   flow.NewSource[AckKey, uint64](g, "feedback/acked"),
		Refused: flow.NewSource[RefusalKey, Refusal](g, "feedback/refused"),
		Proxies: flow.NewSource[model.ObjectRef, ProxySummary](g, "feedback/proxies"),
		InFiles: flow.NewSource[AckKey, uint64](g, "feedback/in-files"),
		Written: flow.NewSource[model.ObjectRef, WrittenFiles](g, "feedback/written"),
	}
	g.Apply("start", func(b *flow.Batch) {
		f.Acked.MarkSynced(b)
		f.Refused.MarkSynced(b)
		f.Proxies.MarkSynced(b)
		f.InFiles.MarkSynced(b)
		f.Written.MarkSynced(b)
	})
	return f
}

// AckState is how far an origin got at a Gateway's proxies.
type AckState struct {
	Acknowledged bool        // at every place where it is
	Refused      string      // the proxy's words; "" if it did not refuse
	Kind         RefusalKind // of what it refused
}

// AckStateKey names an origin at a Gateway.
type AckStateKey struct {
	Gateway model.ObjectRef
	Origin  Origin
}

// Owner is the Gateway.
func (k AckStateKey) Owner() model.ObjectRef { return k.Gateway }

// Outputs is what a dialect produces.
type Outputs struct {
	// Resources has one collection for each type, in the order of the dialect's AllTypes. Behind them there may be more,
	// with resources of any type: Find, FindBefore and All look there, too.
	Resources []*flow.Collection[Key, Resource]
	// Routes and Listeners tell what of them was acknowledged or refused: the current content, at every place where it
	// serves. A route has an entry for each Gateway that it is attached to.
	Routes    *flow.Collection[RouteKey, RouteAckState]
	Listeners *flow.Collection[AckStateKey, AckState]
	// Settings tells the same of what is rendered of an object for Gateways and listeners, by the object's origin without
	// a section.
	Settings *flow.Collection[AckStateKey, AckState]
	// RefusedBackends has what of backends was refused: by its origin, or by the object alone if all that the object has
	// stands in one resource.
	RefusedBackends *flow.Collection[AckStateKey, Refusal]
	// Policies tell the same of BackendTLSPolicies by which requests are sent.
	Policies *flow.Collection[AckStateKey, AckState]
	// RuleChanged is the revision in which what a rule is rendered to changed last; 0 if it is rendered to nothing.
	RuleChanged func(flow.View, model.RuleKey) flow.Rev
}

// Find finds a resource, whichever collection has it.
func (o Outputs) Find(v flow.View, key Key) (Resource, bool) {
	return o.findIn(v, key, flow.Get[Key, Resource])
}

// FindBefore finds a resource as it was before the edits that are staged.
func (o Outputs) FindBefore(v flow.View, key Key) (Resource, bool) {
	return o.findIn(v, key, flow.ValueBefore[Key, Resource])
}

// findIn looks first where most resources of the key's type are.
func (o Outputs) findIn(
	v flow.View, key Key, get func(flow.View, *flow.Collection[Key, Resource], Key) (Resource, bool),
) (Resource, bool) {
	if r, found := get(v, o.Resources[key.Type], key); found {
		return r, true
	}
	for _, c := range o.Resources {
		if r, found := get(v, c, key); found {
			return r, true
		}
	}
	return Resource{}, false
}

// All are the resources of a type.
func (o Outputs) All(v flow.View, t Type) iter.Seq2[Key, Resource] {
	return func(yield func(Key, Resource) bool) {
		for _, c := range o.Resources {
			for key, r := range flow.All(v, c) {
				if key.Type == t && !yield(key, r) {
					return
				}
			}
		}
	}
}

// RouteKey names a route at a Gateway.
type RouteKey struct{ Gateway, Route model.ObjectRef }

// Owner is the route.
func (k RouteKey) Owner() model.ObjectRef { return k.Route }

// RouteAckState is how far a route's rules got at a Gateway's proxies.
type RouteAckState struct {
	Listeners   []ListenerAckState // where it serves
	Unsupported []model.Finding    // what the dialect can't render; their Section is the rule's name
}

// ListenerAckState is how far a route's rules got at one listener, in the order of the rules.
type ListenerAckState struct {
	Listener model.ListenerKey
	Rules    []AckState
}

// RuleStates lists the standing of each rule at those of its places that count; nil if there is none.
func (s RouteAckState) RuleStates(counts func(model.ListenerKey) bool) []AckState {
	var all []AckState
	for _, p := range s.Listeners {
		switch {
		case !counts(p.Listener):
		case all == nil:
			all = slices.Clone(p.Rules)
		default:
			for i, r := range p.Rules {
				all[i].Acknowledged = all[i].Acknowledged && r.Acknowledged
				all[i].Refused = cmp.Or(all[i].Refused, r.Refused)
			}
		}
	}
	return all
}
