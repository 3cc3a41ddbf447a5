package envoy

import (
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	udpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
)

// Rule takes what a feature is for the requests of a level: a Gateway, a listener, a rule. If several levels put
// something into a slot under one name, the nearest counts; other names add up. A part of the feature that a broader
// level has, and this one has not, is turned off here.
type Rule interface {
	// Filter puts an HTTP filter into a slot that holds several.
	Filter(slot extend.Slot, name string, config proto.Message)
	// Sanitize takes headers off requests that must not be read as clients sent them, before anybody is authenticated. It
	// holds at all levels below, also where the feature is turned off. Those of IdentityHeaders are taken off anyway.
	Sanitize(headers ...string)
	// Set is the configuration of a slot that is one filter; nil: it runs as it is configured for all. entries are those
	// that config names (Shared).
	Set(slot extend.Slot, config proto.Message, entries ...string)
	// Shared is an entry of a filter that keeps state: a message of the filter's type, valid by itself, which is merged
	// with those of others. Entries of one ID must be equal.
	Shared(slot extend.Slot, id string, entry proto.Message)
	// Route has fields of the route that state the feature, merged into the route. A field belongs to one feature. Envoy
	// has no broader level for them, so each rule below the level gets them.
	Route(fields *routev3.Route)
	// Cluster is the name of a backend's cluster. The backend is there before what names it.
	Cluster(backend extend.BackendKey) string
	// Unsupported says that the data plane can't do what a field states, as Reader.Refuse does.
	Unsupported(field, why string)
}

// Listener takes what a feature is for the connections of a listener: fields that are merged into what stands
// there. A list replaces one that is there.
type Listener interface {
	// Listener has fields of the whole port's: a feature with them is AtPort, or has PortFields.
	Listener(fields *listenerv3.Listener)
	// ListenerFilter is asked before all others, also before the one that reads the name of the host in TLS. A feature
	// with one is AtPort.
	ListenerFilter(name string, config proto.Message)
	Chain(fields *listenerv3.FilterChain)
	// NetworkFilter gets what clients send before it is read as HTTP.
	NetworkFilter(name string, config proto.Message)
	// TLS has fields of a listener with TLS; others have nothing to put them into.
	TLS(fields *tlsv3.DownstreamTlsContext)
	// Clients asks for clients' certificates, and has fields of how they are judged, merged into what the Gateway says of
	// them. Another value drains nothing. zero is as for Connections.
	Clients(fields *tlsv3.CertificateValidationContext, zero ...string)
	// TLSInspector has fields of what reads the name of the host in TLS, which is the whole port's.
	TLSInspector(fields *tlsinspectorv3.TlsInspector)
	// Connections has fields of how HTTP is spoken. zero names others that have their zero value, which a message can't
	// tell from none: "merge_slashes".
	Connections(fields *hcmv3.HttpConnectionManager, zero ...string)
	// HTTPFilter is passed before all slots, also by requests that no rule takes.
	HTTPFilter(name string, config proto.Message)
	// Streams has fields of what passes on the bytes of connections, where these are decided and not requests. zero is as
	// for Connections.
	Streams(fields *tcpproxyv3.TcpProxy, zero ...string)
	// Sessions has fields of what passes on datagrams.
	Sessions(fields *udpproxyv3.UdpProxyConfig)
	// Access says which connections are taken, where these are decided. The others are closed before a backend is dialled.
	Access(rules ConnectionRules)
	// Cluster is the name of a backend's cluster. The backend is there before what names it.
	Cluster(backend extend.BackendKey) string
	Unsupported(field, why string)
}

// ConnectionRules are which connections pass: no entry of Deny matches, all of Require do and, if there are some, one
// of Allow. Matches are of the client's address (ClientCIDRs) and, where clients speak TLS, the name that they ask for
// (Hosts).
type ConnectionRules struct {
	Deny, Require, Allow []ConnectionMatches `json:",omitempty"`
}

// ConnectionMatches match a connection if one of them does.
type ConnectionMatches []extend.RequestMatch

// Backend takes what a feature is for a backend: fields that are merged into its cluster. A list replaces one that
// is there.
type Backend interface {
	Cluster(fields *clusterv3.Cluster)
	HTTP(fields *upstreamv3.HttpProtocolOptions)
	// Filter is an HTTP filter that each attempt of a request passes on its way to the backend, after all of its route.
	Filter(name string, config proto.Message)
	// Secret gives proxies a text that must not be shown. A filter refers to it by what is returned, so that another text
	// changes nothing but that. name is one for each of the feature's secrets.
	Secret(name string, text extend.Bytes) *tlsv3.SdsSecretConfig
	Unsupported(field, why string)
}

// secretSuffix ends the names of filters with a configuration that must not be shown.
const secretSuffix = ".secret"

// SecretFilter is the name of a filter of rules with a secret in its configuration: Cardea prints the name, and leaves
// out the configuration. Cardea leaves out only the fields of listeners' and backends' filters that Envoy's protos mark
// as sensitive.
func SecretFilter(name string) string { return name + secretSuffix }

// IsSecretFilter tells whether a name is one of SecretFilter.
func IsSecretFilter(name string) bool { return strings.HasSuffix(name, secretSuffix) }
