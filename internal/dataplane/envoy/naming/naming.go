// Package naming names the resources of Envoy, and says where each of them comes from.
//
// Names: a cluster is "service/NAMESPACE/NAME/PORT" or "xbackend/NAMESPACE/NAME", with "/h2" behind it where the sender
// wants HTTP/2, a secret "secret/NAMESPACE/NAME", a listener its port ("80"), a route table its port, for HTTPS the
// listener's section too, and a shard: "80/0", "443/shop/0". The shard is always 0; it is there so that a table can be
// cut without renaming it. No name is read back: parts carry the keys that they were made of. To find the key of a
// name, the names of those keys are made once more (simulation.go).
//
// It owns these names. It must never know what the resources contain. Start reading at Cluster.
package naming

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// InvalidCluster takes the share of backends that don't resolve. It never exists; real names have slashes.
const InvalidCluster = "invalid"

// Shard is the only shard that a table has.
const Shard = "0"

// http2Suffix ends the name of a cluster that speaks HTTP/2 because the sender does.
const http2Suffix = "h2"

// pickerSuffix ends the name of the cluster of a pool's picker.
const pickerSuffix = "picker"

// Cluster names the cluster of a backend.
func Cluster(k model.BackendKey) string {
	name := objectName(k.Object)
	if k.Port != 0 {
		name += "/" + strconv.Itoa(int(k.Port))
	}
	if k.HTTP2 {
		name += "/" + http2Suffix
	}
	if k.Picker {
		name += "/" + pickerSuffix
	}
	if k.Carries != "" {
		name += "/" + string(k.Carries)
	}
	return name
}

// BackendResource names the resources of one type that are made of backends.
func BackendResource(t resource.Type) func(plan.BackendKey) resource.Key {
	return func(k plan.BackendKey) resource.Key {
		return resource.Key{Gateway: k.Gateway, Type: t, Name: Cluster(k.Backend)}
	}
}

// Secret names a certificate of listeners.
func Secret(ref model.ObjectRef) string { return objectName(ref) }

// ClientSecret names a certificate that backends are shown. Its life is that of clusters, so it is apart from the
// same one of listeners.
func ClientSecret(ref model.ObjectRef) string { return ClientPrefix + objectName(ref) }

// ClientPrefix begins the names of certificates that backends are shown, and is how they are told apart in what proxies
// say.
const ClientPrefix = "client/"

// BackendSecret names a text that a feature has proxies tell a backend.
func BackendSecret(k model.BackendKey, name string) string {
	return "backend/" + Cluster(k) + "/" + name
}

// objectName tells objects apart.
func objectName(ref model.ObjectRef) string {
	return kinds.Prefix(ref.Kind()) + "/" + ref.NamespacedName()
}

// Listener is the name of the Listener for one address of a port.
func Listener(k model.PortKey, address string) string {
	name := net.JoinHostPort(address, strconv.Itoa(int(k.Number)))
	if k.Transport == model.TransportUDP {
		name += "/udp"
	}
	return name
}

// Section names a listener among those of its port: its section, which is unique in one object, and that object
// unless it is the Gateway itself.
func Section(gateway model.ObjectRef, k model.ListenerKey) string {
	if k.Parent == gateway {
		return k.Section
	}
	return objectName(k.Parent) + "/" + k.Section
}

// ConnectionFilter names the filter that shares the connections of a domain among backends.
func ConnectionFilter(gateway model.ObjectRef, k model.DomainKey) string {
	return connectionFilterPrefix + Section(gateway, k.Listener) + "/" + k.Name
}

const connectionFilterPrefix = "connections/"

// IsConnectionFilter tells whether an extension shares connections among clusters; else it is a filter of requests.
func IsConnectionFilter(extension string) bool {
	return strings.HasPrefix(extension, connectionFilterPrefix)
}

// DatagramCluster names the cluster that shares the sessions of a UDP listener among backends.
func DatagramCluster(gateway model.ObjectRef, k model.ListenerKey) string {
	return "datagrams/" + Section(gateway, k)
}

// Table is the name of the route table that a listener's requests are looked up in. All HTTP listeners of a port
// share one, since only the Host header tells them apart; an HTTPS listener has its own, chosen by SNI.
func Table(l model.Listener) string {
	port := strconv.Itoa(int(l.Port.Number))
	if l.Protocol == model.HTTPS {
		return port + "/" + Section(l.Gateway, l.Key) + "/" + Shard
	}
	return port + "/" + Shard
}

// TableKey is the route table that a listener's requests are looked up in.
func TableKey(l model.Listener) resource.Key {
	return resource.Key{Gateway: l.Gateway, Type: xdstypes.Routes, Name: Table(l)}
}

// IsEnvoy tells whether this dialect renders what a data plane serves: that of every Envoy, whatever brings it there.
func IsEnvoy(d model.DataPlane) bool {
	return d == DataPlane || d == FilesDataPlane
}

// Protocols are those of listeners that are served.
var Protocols = []model.Protocol{model.HTTP, model.HTTPS, model.TLS, model.TCP, model.UDP}

// CanServe tells whether a port is this dialect's, and it knows what the port speaks. A port with an unknown protocol
// is not rendered at all: a listener must not serve plaintext because its protocol is new.
func CanServe(d model.DataPlane, p model.Protocol, t model.Transport) bool {
	declared, _ := p.Declared()
	return IsEnvoy(d) && t == declared.Transport && slices.Contains(Protocols, p)
}

// HasTable tells whether a listener's requests are looked up in a route table.
func HasTable(l model.Listener) bool {
	return CanServe(l.DataPlane, l.Protocol, l.Port.Transport) && l.Protocol.Carries(l.TLS) == ""
}

// Rule names the routes of a rule.
func Rule(k model.RuleKey) string { return objectName(k.Route) + "/" + k.Name }

// RulesByName finds the rules that a virtual host was made of, by the names of their routes.
func RulesByName(p *resource.Part) map[string]resource.Origin {
	rules := make(map[string]resource.Origin, len(p.Fragments))
	for _, f := range p.Fragments {
		rules[Rule(f.Origin.RuleKey())] = f.Origin
	}
	return rules
}

// RuleOrigin is what a rule is told as in a part.
func RuleOrigin(k model.RuleKey) resource.Origin {
	return resource.Origin{Object: k.Route, Section: k.Name}
}

// ListenerOrigin is what a listener is told as in a part.
func ListenerOrigin(k model.ListenerKey) resource.Origin {
	return resource.Origin{Object: k.Parent, Section: k.Section}
}

// BackendFragment says that a part is what a backend was rendered to.
func BackendFragment(k model.BackendKey, hash uint64) resource.Fragment {
	return resource.Fragment{Origin: BackendOrigin(k), Hash: hash, Port: k.Port, HTTP2: k.HTTP2,
		Picker: k.Picker, Carries: k.Carries}
}

// BackendOrigin is what a backend is told as in a part.
func BackendOrigin(k model.BackendKey) resource.Origin {
	o := resource.Origin{Object: k.Object}
	if k.Port != 0 {
		o.Section = strconv.Itoa(int(k.Port))
	}
	if k.HTTP2 {
		o.Section += "/" + http2Suffix
	}
	if k.Picker {
		o.Section += "/" + pickerSuffix
	}
	if k.Carries != "" {
		o.Section += "/" + string(k.Carries)
	}
	return o
}

// The data planes of this package's resources: Envoys that are fed over xDS, and Envoys that read files (package
// files).
var (
	DataPlane      = model.DataPlane{Name: "Envoy"}
	FilesDataPlane = model.DataPlane{Name: "EnvoyConfigMap", ReadsFiles: true}
)
