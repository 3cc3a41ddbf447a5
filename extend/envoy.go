package extend

import (
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"
)

// EnvoyRule takes what a feature is for the requests of a level: a Gateway, a listener, a rule. If several levels put
// something into a slot under one name, the nearest counts; other names add up. A part of the feature that a broader
// level has, and this one has not, is turned off here.
type EnvoyRule interface {
	// Filter puts an HTTP filter into a slot that holds several.
	Filter(slot Slot, name string, config proto.Message)
	// Sanitize takes headers off requests that must not be read as clients sent them, before anybody is authenticated. It
	// holds at all levels below, also where the feature is turned off. Those of IdentityHeaders are taken off anyway.
	Sanitize(headers ...string)
	// Set is the configuration of a slot that is one filter; nil: it runs as it is configured for all. entries are those
	// that config names (Shared).
	Set(slot Slot, config proto.Message, entries ...string)
	// Shared is an entry of a filter that keeps state: a message of the filter's type, valid by itself, which is merged
	// with those of others. Entries of one ID must be equal.
	Shared(slot Slot, id string, entry proto.Message)
	// Route has fields of the route that state the feature, merged into the route. A field belongs to one feature. Envoy
	// has no broader level for them, so each rule below the level gets them.
	Route(fields *routev3.Route)
	// Cluster is the name of a backend's cluster. The backend is there before what names it.
	Cluster(backend BackendKey) string
	// Unsupported says that the data plane can't do what a field states, as Reader.Refuse does.
	Unsupported(field, why string)
}

// EnvoyListener takes what a feature is for the connections of a listener: fields that are merged into what stands
// there. A list replaces one that is there.
type EnvoyListener interface {
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
	// Cluster is the name of a backend's cluster. The backend is there before what names it.
	Cluster(backend BackendKey) string
	Unsupported(field, why string)
}

// EnvoyBackend takes what a feature is for a backend: fields that are merged into its cluster. A list replaces one that
// is there.
type EnvoyBackend interface {
	Cluster(fields *clusterv3.Cluster)
	HTTP(fields *upstreamv3.HttpProtocolOptions)
	// Filter is an HTTP filter that each attempt of a request passes on its way to the backend, after all of its route.
	Filter(name string, config proto.Message)
	// Secret gives proxies a text that must not be shown. A filter refers to it by what is returned, so that another text
	// changes nothing but that. name is one for each of the feature's secrets.
	Secret(name string, text Bytes) *tlsv3.SdsSecretConfig
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

// Slot is a place among the HTTP filters of every Envoy. Requests pass them in the order below, answers in reverse.
type Slot string

// The slots that features can put filters into.
const (
	SlotCoding      Slot = "coding"       // decompressor, compressor
	SlotErrors      Slot = "errors"       // custom_response
	SlotObserve     Slot = "observe"      // set_metadata, grpc_stats
	SlotFault       Slot = "fault"        // fault
	SlotCORS        Slot = "cors"         // cors; it is one filter
	SlotOrigin      Slot = "origin"       // csrf
	SlotCustom1     Slot = "custom-1"     // strangers' filters, before anything is refused
	SlotLoops       Slot = "loops"        // answers what goes in circles; it is one filter, without configuration
	SlotGuard       Slot = "guard"        // rbac that needs no identity
	SlotLimitsEarly Slot = "limits-early" // local_ratelimit by address or header; it is one filter, which keeps state
	SlotAuthn       Slot = "authn"        // basic_auth, api_key_auth, oauth2; before them what removes forged headers
	SlotJWT         Slot = "jwt"          // jwt_authn; it is one filter, which keeps state
	SlotMCP         Slot = "mcp"          // what agents ask for, as metadata for authz
	SlotMessages    Slot = "messages"     // reads messages of agents, hides tools; it is one filter, without configuration
	SlotAuthz       Slot = "authz"        // rbac by identity
	SlotExtAuth     Slot = "extauth"      // ext_authz
	SlotLimits      Slot = "limits"       // ratelimit
	SlotLimitsLate  Slot = "limits-late"  // local_ratelimit by identity; it is one filter, which keeps state
	SlotCustom2     Slot = "custom-2"     // strangers' filters, of requests that may pass
	SlotBody        Slot = "body"         // body_size_limit, buffer
	SlotTransform   Slot = "transform"    // header_mutation
	SlotTools       Slot = "tools"        // what the bridge does not; it is one filter, without configuration
	SlotBridge      Slot = "bridge"       // mcp_json_rest_bridge
	SlotExtProc     Slot = "extproc"      // ext_proc
	SlotGRPC        Slot = "grpc"         // grpc_web
	SlotCustom3     Slot = "custom-3"     // strangers' filters, of what the backend will see
	SlotAI          Slot = "ai"           // reads what answers of models took; it is one filter, without configuration
)

// The slots of limits that each proxy has whole, behind those that the proxies of a Gateway share.
const (
	SlotLimitsEarlyProxy Slot = "limits-early-proxy"
	SlotLimitsLateProxy  Slot = "limits-late-proxy"
)
