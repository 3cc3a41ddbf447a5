package envoy

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/plan"
)

// listenerFeature is an extend.EnvoyListener.
type listenerFeature struct {
	out         plan.Rendered
	listener    listenerv3.Listener
	chain       listenerv3.FilterChain
	tls         tlsv3.DownstreamTlsContext
	connections hcmv3.HttpConnectionManager
	clients     tlsv3.CertificateValidationContext
	inspector   tlsinspectorv3.TlsInspector
}

// Listener implements extend.EnvoyListener.
func (e *listenerFeature) Listener(fields *listenerv3.Listener) { proto.Merge(&e.listener, fields) }

// ListenerFilter implements extend.EnvoyListener.
func (e *listenerFeature) ListenerFilter(name string, config proto.Message) {
	named(&e.out.Listener.ListenerFilters, name, config)
}

// Chain implements extend.EnvoyListener.
func (e *listenerFeature) Chain(fields *listenerv3.FilterChain) { proto.Merge(&e.chain, fields) }

// NetworkFilter implements extend.EnvoyListener.
func (e *listenerFeature) NetworkFilter(name string, config proto.Message) {
	named(&e.out.Listener.NetworkFilters, name, config)
}

// TLS implements extend.EnvoyListener.
func (e *listenerFeature) TLS(fields *tlsv3.DownstreamTlsContext) { proto.Merge(&e.tls, fields) }

// Clients implements extend.EnvoyListener.
func (e *listenerFeature) Clients(fields *tlsv3.CertificateValidationContext, zero ...string) {
	proto.Merge(&e.clients, fields)
	e.out.Listener.ClientsZero = append(e.out.Listener.ClientsZero, zero...)
}

// TLSInspector implements extend.EnvoyListener.
func (e *listenerFeature) TLSInspector(fields *tlsinspectorv3.TlsInspector) {
	proto.Merge(&e.inspector, fields)
}

// Connections implements extend.EnvoyListener.
func (e *listenerFeature) Connections(fields *hcmv3.HttpConnectionManager, zero ...string) {
	proto.Merge(&e.connections, fields)
	e.out.Listener.Zero = append(e.out.Listener.Zero, zero...)
}

// HTTPFilter implements extend.EnvoyListener.
func (e *listenerFeature) HTTPFilter(name string, config proto.Message) {
	named(&e.out.Listener.HTTPFilters, name, config)
}

// Cluster implements extend.EnvoyListener.
func (e *listenerFeature) Cluster(backend extend.BackendKey) string {
	e.out.Listener.Uses = append(e.out.Listener.Uses, backend)
	return clusterName(backend)
}

// Unsupported implements extend.EnvoyListener.
func (e *listenerFeature) Unsupported(field, why string) {
	e.out.Unsupported = append(e.out.Unsupported, plan.Unsupported{Field: field, Why: why})
}

func named(list *[]plan.NamedConfig, name string, config proto.Message) {
	packed := mustAny(config)
	*list = append(*list, plan.NamedConfig{
		Name: name, Config: plan.Packed{Type: packed.GetTypeUrl(), Value: packed.GetValue()},
	})
}
