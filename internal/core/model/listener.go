package model

// Protocol is a listener's protocol, in Gateway API's words.
type Protocol string

// The protocols that are declared (Protocols).
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
	TLS   Protocol = "TLS"
	TCP   Protocol = "TCP"
	UDP   Protocol = "UDP"
)

// TLSMode is what a listener does with the TLS of its clients, in Gateway API's words; "": they speak none.
type TLSMode string

// The modes.
const (
	TLSTerminate   TLSMode = "Terminate"
	TLSPassthrough TLSMode = "Passthrough"
)

// DeclaredProtocol is what listeners of a protocol are, whoever serves them. A kind of routes declares to which
// protocols it attaches (kind.Route), a data plane which it serves (dataplane.Dialect).
type DeclaredProtocol struct {
	Name      Protocol
	Transport Transport // of its ports
	Requests  bool      // routes decide request by request; else connection by connection
	// Hosts: clients say which host they want, so listeners can have hostnames.
	Hosts bool
	// Modes are those that a listener can have, the default first; none: there is no TLS.
	Modes []TLSMode
	// SNI: connections are told apart by the server name that clients ask for, so listeners of such protocols can share a
	// port.
	SNI bool
}

// Carries is what connections of a listener carry to the backends of routes; "": requests of HTTP, or the protocol is
// not declared.
func (p Protocol) Carries(mode TLSMode) Carried {
	d, known := p.Declared()
	switch {
	case d.Requests || !known:
		return ""
	case d.Transport == TransportUDP:
		return Datagrams
	case mode == TLSPassthrough:
		return Passthrough
	}
	return Bytes
}

// Protocols are all that are declared. A listener of one that its data plane does not serve keeps its hosts.
func Protocols() []DeclaredProtocol {
	return []DeclaredProtocol{
		{Name: HTTP, Transport: TransportTCP, Requests: true, Hosts: true},
		{Name: HTTPS, Transport: TransportTCP, Requests: true, Hosts: true, Modes: []TLSMode{TLSTerminate}, SNI: true},
		{Name: TLS, Transport: TransportTCP, Hosts: true, Modes: []TLSMode{TLSTerminate, TLSPassthrough}, SNI: true},
		{Name: TCP, Transport: TransportTCP},
		{Name: UDP, Transport: TransportUDP},
	}
}

// Declared is the protocol's declaration; false: nobody knows it, and nothing is known of it but that its ports are
// TCP.
func (p Protocol) Declared() (DeclaredProtocol, bool) {
	for _, d := range Protocols() {
		if d.Name == p {
			return d, true
		}
	}
	return DeclaredProtocol{Transport: TransportTCP}, false
}

// HasSNI tells whether connections are told apart by the server name that clients ask for.
func (p Protocol) HasSNI() bool {
	d, _ := p.Declared()
	return d.SNI
}

// Plaintext tells whether it is known that clients speak no TLS.
func (p Protocol) Plaintext() bool {
	d, known := p.Declared()
	return known && len(d.Modes) == 0
}

// CanShare tells whether listeners of two protocols can share a port. A protocol that is not declared conflicts with
// none.
func (p Protocol) CanShare(other Protocol) bool {
	a, known := p.Declared()
	b, otherKnown := other.Declared()
	return p == other || !known || !otherKnown || a.SNI && b.SNI
}

// Transport is the layer-4 protocol of a port.
type Transport string

// The transports. The same number can be a port of each.
const (
	TransportTCP Transport = "TCP"
	TransportUDP Transport = "UDP"
)

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
	// Protocol is that of a listener that serves; the others have it, too, or share the port with it by SNI.
	Protocol  Protocol
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

// ListenerKey names a listener: a section of the object that declares it (a Gateway or a ListenerSet).
type ListenerKey struct {
	Parent  ObjectRef
	Section string
}

// Level names a listener among the levels of a Gateway at which policies hold: by its section if it is the Gateway's
// own. A listener of a ListenerSet may have the section of another one.
func (k ListenerKey) Level(gateway ObjectRef) string {
	if k.Parent == gateway {
		return k.Section
	}
	return k.Parent.NamespacedName() + "/" + k.Section
}

// Describe names a listener to people who know the Gateway: its section, and the ListenerSet that declares it if the
// Gateway doesn't.
func (k ListenerKey) Describe(gateway ObjectRef) string {
	if k.Parent == gateway {
		return k.Section
	}
	return k.Section + " of " + k.Parent.String()
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
	TLS       TLSMode
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
	// Accepted: what it asks for is known. If it is not, DataPlaneOf may be another one than before a mistake was made,
	// and proxies that run stay what they are.
	Accepted  bool
	DataPlane DataPlane
	Addresses []string // that its proxies bind, sorted
}

// Environment is what all proxies have in common: what they are by default, and what they can and may do.
type Environment struct {
	Version    string   // of the proxy: "1.40.0"
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
