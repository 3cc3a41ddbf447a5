package plan

import (
	"slices"

	"cardea.dev/cardea/internal/core/model"
)

// ListenerSettings are fields of listeners, in place of what the data plane has of its own.
type ListenerSettings struct {
	From []model.ObjectRef // the objects that state them, sorted
	ListenerFields
}

// ListenerFields are fields of listeners. Those of several features follow one another.
type ListenerFields struct {
	// Closed: something that has to be served can't be, so connections are closed as soon as they are opened.
	Closed bool
	// AsksClients: clients are asked for certificates because of them.
	AsksClients bool
	// Port has what all listeners of a port share, Chain what the connections of a listener have: a piece for each
	// feature, encoded as the data plane has it.
	Port, Chain []model.Encoded
	// Filters are passed before all slots, also by requests that no rule takes. Their slot is request.ListenerSlot.
	Filters []Setting
	Uses    []model.BackendKey // that they send requests to
}

// OfChain tells whether a filter chain has some of them.
func (f ListenerFields) OfChain() bool {
	return f.Closed || f.AsksClients || len(f.Chain)+len(f.Filters) > 0
}

// MergeWith adds those of another feature.
func (f ListenerFields) MergeWith(more ListenerFields) ListenerFields {
	return ListenerFields{
		Closed: f.Closed || more.Closed, AsksClients: f.AsksClients || more.AsksClients,
		Port: slices.Concat(f.Port, more.Port), Chain: slices.Concat(f.Chain, more.Chain),
		Filters: slices.Concat(f.Filters, more.Filters), Uses: slices.Concat(f.Uses, more.Uses),
	}
}

// PortOnly leaves out what filter chains have.
func (f ListenerFields) PortOnly() ListenerFields { return ListenerFields{Port: f.Port} }

// ChainOnly leaves out what the listeners of a port share.
func (f ListenerFields) ChainOnly() ListenerFields {
	f.Port = nil
	return f
}
