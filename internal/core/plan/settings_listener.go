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

// ListenerFields are fields of listeners, encoded as their data plane has them. Fields of several features follow one
// another.
type ListenerFields struct {
	// Closed: something that has to be served can't be, so connections are closed as soon as they are opened.
	Closed bool
	// Fields of the port; for Envoy, those of a Listener and a TlsInspector.
	Listener, TLSInspector model.Encoded
	ListenerFilters        []NamedConfig
	// Fields of a filter chain; for Envoy, those of a FilterChain, a DownstreamTlsContext and an HttpConnectionManager.
	Chain, TLS, Connections     model.Encoded
	Zero                        []string // fields of the last that have their zero value
	NetworkFilters, HTTPFilters []NamedConfig
	Uses                        []model.BackendKey // that they send requests to
	// Clients is how clients' certificates are judged; of Envoy fields of a CertificateValidationContext.
	Clients     model.Encoded
	ClientsZero []string // fields of it that have their zero value
}

// NamedConfig is a filter with its configuration.
type NamedConfig struct {
	Name   string
	Config Packed
}

// OfPort tells whether there are fields that all listeners of a port share.
func (f ListenerFields) OfPort() bool {
	return len(f.Listener)+len(f.TLSInspector)+len(f.ListenerFilters) > 0
}

// OfChain tells whether there are fields of filter chains.
func (f ListenerFields) OfChain() bool {
	return f.Closed || f.AsksClients() ||
		len(f.Chain)+len(f.TLS)+len(f.Connections)+len(f.Zero)+len(f.NetworkFilters)+len(f.HTTPFilters) > 0
}

// AsksClients tells whether clients are asked for certificates because of them.
func (f ListenerFields) AsksClients() bool { return len(f.Clients)+len(f.ClientsZero) > 0 }

// And adds those of another feature.
func (f ListenerFields) And(more ListenerFields) ListenerFields {
	return ListenerFields{
		Closed:   f.Closed || more.Closed,
		Listener: slices.Concat(f.Listener, more.Listener), ListenerFilters: slices.Concat(f.ListenerFilters,
			more.ListenerFilters),
		Chain: slices.Concat(f.Chain, more.Chain), TLS: slices.Concat(f.TLS, more.TLS),
		Connections: slices.Concat(f.Connections, more.Connections), Zero: slices.Concat(f.Zero, more.Zero),
		NetworkFilters: slices.Concat(f.NetworkFilters, more.NetworkFilters),
		HTTPFilters:    slices.Concat(f.HTTPFilters, more.HTTPFilters),
		Uses:           slices.Concat(f.Uses, more.Uses),
		TLSInspector:   slices.Concat(f.TLSInspector, more.TLSInspector),
		Clients:        slices.Concat(f.Clients, more.Clients),
		ClientsZero:    slices.Concat(f.ClientsZero, more.ClientsZero),
	}
}

// PortOnly leaves out what filter chains have.
func (f ListenerFields) PortOnly() ListenerFields {
	return ListenerFields{Listener: f.Listener, TLSInspector: f.TLSInspector, ListenerFilters: f.ListenerFilters}
}

// ChainOnly leaves out what the listeners of a port share.
func (f ListenerFields) ChainOnly() ListenerFields {
	f.Listener, f.TLSInspector, f.ListenerFilters = nil, nil, nil
	return f
}
