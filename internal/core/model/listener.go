package model

// Protocol is a listener's protocol, in Gateway API's words.
type Protocol string

// The protocols that listeners can have. TLS can't be served yet, but such a listener keeps its hosts.
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
	TLS   Protocol = "TLS"
)

// Transport is the layer-4 protocol of a port.
type Transport string

// TCP carries HTTP and HTTPS.
const TCP Transport = "TCP"

// PortKey names one port of one Gateway's data plane.
type PortKey struct {
	Gateway   ObjectRef
	Number    int32 // as the Gateway states it
	Transport Transport
}

// Owner is the Gateway.
func (k PortKey) Owner() ObjectRef { return k.Gateway }

// Port is an address to serve at, and the listeners that share it. Ports without a listener that can serve don't exist.
type Port struct {
	Key       PortKey
	BindPort  int32    // where the proxy binds: Number plus an offset
	Addresses []string // IP addresses to bind, never empty, sorted
	Protocol  Protocol // all listeners that serve agree on it
	DataPlane DataPlane
	Listeners []PortListener
	AccessLog string // as the Environment says
}

// PortListener is a listener as its port's other listeners see it: hosts go to the most specific one. One that can't
// serve keeps its hosts all the same: no other listener may answer for them.
type PortListener struct {
	Key      ListenerKey
	Hostname string
	Serves   bool
}

// ListenerKey names a listener: a section of the object that declares it (a Gateway).
type ListenerKey struct {
	Parent  ObjectRef
	Section string
}

// Owner is the object that declares the listener.
func (k ListenerKey) Owner() ObjectRef { return k.Parent }

// Listener is one listener that can serve: its own references resolved, no conflict.
type Listener struct {
	Key       ListenerKey
	Gateway   ObjectRef // its proxies serve it
	DataPlane DataPlane
	Port      PortKey
	Protocol  Protocol
	Hostname  string // "", "host" or "*.host"; "" takes every host
	// Certificates, for HTTPS: Secrets of type kubernetes.io/tls that resolved, in the order of certificateRefs.
	Certificates []ObjectRef
	// Clients, for HTTPS, says which certificates clients must show; nil: they are not asked for any.
	Clients *ClientValidation
	// AccessLog is as the Environment says.
	AccessLog string
}

// ClientValidation is how clients' certificates are judged. All listeners of a port have the same one.
type ClientValidation struct {
	CA string // who may sign them, in PEM
	// Optional: connections are taken, too, of clients that show no certificate or one that is not valid.
	Optional bool
}

// Gateway is one Gateway that Cardea serves.
type Gateway struct {
	Ref   ObjectRef
	Class ObjectRef
	// Accepted: what it asks for is known. If it is not, DataPlane may be another one than before a mistake was made, and
	// proxies that run stay what they are.
	Accepted  bool
	DataPlane DataPlane
	Addresses []string // that its proxies bind, sorted
}

// Environment is what all proxies have in common: what they are by default, and what they can and may do.
type Environment struct {
	Version    string   // of Envoy: "1.40.0"
	PortOffset int32    // added to every listener's port to get the port to bind
	Addresses  []string // IP addresses to bind where nothing else says so
	// Fronted: a Service stands before the proxies. It has the Gateway's addresses, and the proxies bind Addresses. Else
	// the proxies bind the Gateway's addresses themselves.
	Fronted bool
	// ProbePort and MetricsPort are the proxies' own, which no listener can bind; 0: none.
	ProbePort, MetricsPort int32
	// AccessLog is the file that requests are logged to, where nobody states another log; "-": the standard output of each
	// proxy; "": nowhere.
	AccessLog string
	// Machine: the proxies run on this machine, and input.Files tells which of its files they can write.
	Machine bool
	// Pickers: pickers are run for InferencePools that name none.
	Pickers bool
	// ClusterDomain is the DNS domain of the cluster in which the proxies are pods; "": they are not.
	ClusterDomain string
	// TrustDomain is that of the SPIFFE IDs of ServiceAccounts.
	TrustDomain string
	APIs        []string // the installed versions of the Gateway API's CRDs, each once; none: there are no CRDs
	// Definitions are the CustomResourceDefinitions that are not as Cardea reads them, by name.
	Definitions []Definition
}

// DefaultTrustDomain is that of ServiceAccounts where none is stated.
const DefaultTrustDomain = "cluster.local"

// DefaultClusterDomain is the DNS domain of most clusters.
const DefaultClusterDomain = "cluster.local"

// Front is what stands before a Gateway's proxies, as far as it is there. For an XBackend, it says why its pods can't
// be found (NoResources).
type Front struct {
	Addresses []Address // that lead to the Gateway, sorted
	// Reason and Message say what is wrong, in words of the Gateway's condition Accepted (InvalidParameters) or Programmed
	// (AddressNotAssigned, AddressNotUsable, NoResources); none if all is as it was asked for.
	Reason, Message string
	// Proxies is how many serve.
	Proxies int32
	// Note is what else should be known of what stands there, though it may serve: a rollout that does not come to its
	// end, a label that was not set.
	Note string
}

// Address is an address that clients use.
type Address struct {
	Hostname bool // else an IP address
	Value    string
}
