package envoy

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	udpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
)

// listenerBuilder implements Listener of package extend/envoy.
type listenerBuilder struct {
	from        model.ObjectRef
	fields      plan.ListenerFields // but for port and chain
	unsupported []plan.Unsupported
	port        portFields
	chain       chainFields
	listener    listenerv3.Listener
	filterChain listenerv3.FilterChain
	tls         tlsv3.DownstreamTlsContext
	connections hcmv3.HttpConnectionManager
	clients     tlsv3.CertificateValidationContext
	inspector   tlsinspectorv3.TlsInspector
	streams     tcpproxyv3.TcpProxy
	sessions    udpproxyv3.UdpProxyConfig
}

// Listener implements envoy.Listener.
func (e *listenerBuilder) Listener(fields *listenerv3.Listener) { proto.Merge(&e.listener, fields) }

// ListenerFilter implements envoy.Listener.
func (e *listenerBuilder) ListenerFilter(name string, config proto.Message) {
	e.port.Filters = append(e.port.Filters, newNamedConfig(name, config))
}

// Chain implements envoy.Listener.
func (e *listenerBuilder) Chain(fields *listenerv3.FilterChain) { proto.Merge(&e.filterChain, fields) }

// NetworkFilter implements envoy.Listener.
func (e *listenerBuilder) NetworkFilter(name string, config proto.Message) {
	e.chain.Filters = append(e.chain.Filters, newNamedConfig(name, config))
}

// TLS implements envoy.Listener.
func (e *listenerBuilder) TLS(fields *tlsv3.DownstreamTlsContext) { proto.Merge(&e.tls, fields) }

// Clients implements envoy.Listener.
func (e *listenerBuilder) Clients(fields *tlsv3.CertificateValidationContext, zero ...string) {
	proto.Merge(&e.clients, fields)
	e.chain.ClientsZero = append(e.chain.ClientsZero, zero...)
}

// TLSInspector implements envoy.Listener.
func (e *listenerBuilder) TLSInspector(fields *tlsinspectorv3.TlsInspector) {
	proto.Merge(&e.inspector, fields)
}

// Connections implements envoy.Listener.
func (e *listenerBuilder) Connections(fields *hcmv3.HttpConnectionManager, zero ...string) {
	proto.Merge(&e.connections, fields)
	e.chain.Zero = append(e.chain.Zero, zero...)
}

// HTTPFilter implements envoy.Listener.
func (e *listenerBuilder) HTTPFilter(name string, config proto.Message) {
	s := httpfilters.NewSetting(request.ListenerSlot, name, config)
	s.From = e.from
	e.fields.Filters = append(e.fields.Filters, s)
}

// Streams implements envoy.Listener.
func (e *listenerBuilder) Streams(fields *tcpproxyv3.TcpProxy, zero ...string) {
	proto.Merge(&e.streams, fields)
	e.chain.StreamsZero = append(e.chain.StreamsZero, zero...)
}

// Sessions implements envoy.Listener.
func (e *listenerBuilder) Sessions(fields *udpproxyv3.UdpProxyConfig) {
	proto.Merge(&e.sessions, fields)
}

// Access implements envoy.Listener.
func (e *listenerBuilder) Access(rules extendenvoy.ConnectionRules) {
	e.chain.Access = append(e.chain.Access, rules)
}

// Cluster implements envoy.Listener.
func (e *listenerBuilder) Cluster(backend extend.BackendKey) string {
	e.fields.Uses = append(e.fields.Uses, backend)
	return naming.Cluster(backend)
}

// Unsupported implements envoy.Listener.
func (e *listenerBuilder) Unsupported(field, why string) {
	e.unsupported = append(e.unsupported, plan.Unsupported{Field: field, Why: why})
}

// encodeFields encodes what was stated.
func (e *listenerBuilder) encodeFields() *plan.ListenerFields {
	e.port.Listener, e.port.TLSInspector = message.MustMarshal(&e.listener), message.MustMarshal(&e.inspector)
	e.chain.Chain, e.chain.TLS = message.MustMarshal(&e.filterChain), message.MustMarshal(&e.tls)
	e.chain.Connections, e.chain.Clients = message.MustMarshal(&e.connections), message.MustMarshal(&e.clients)
	e.chain.Streams, e.chain.Sessions = message.MustMarshal(&e.streams), message.MustMarshal(&e.sessions)
	f := e.fields
	f.Port, f.Chain = encodePiece(e.port), encodePiece(e.chain)
	f.AsksClients = len(e.chain.Clients)+len(e.chain.ClientsZero) > 0
	return &f
}
