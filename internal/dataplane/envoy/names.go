package envoy

import (
	"net"
	"strconv"
	"strings"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// invalidCluster takes the share of backends that don't resolve. It never exists; real names have slashes.
const invalidCluster = "invalid"

// shard is the only shard that a table has.
const shard = "0"

// http2Suffix ends the name of a cluster that speaks HTTP/2 because the sender does.
const http2Suffix = "h2"

// pickerSuffix ends the name of the cluster of a pool's picker.
const pickerSuffix = "picker"

func clusterName(k model.BackendKey) string {
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
	return name
}

// backendResource names the resources of one type that are made of backends.
func backendResource(t resource.Type) func(plan.BackendKey) resource.Key {
	return func(k plan.BackendKey) resource.Key {
		return resource.Key{Gateway: k.Gateway, Type: t, Name: clusterName(k.Backend)}
	}
}

func secretName(ref model.ObjectRef) string { return objectName(ref) }

// clientSecretName names a certificate that backends are shown. Its life is that of clusters, so it is apart from the
// same one of listeners.
func clientSecretName(ref model.ObjectRef) string { return clientPrefix + objectName(ref) }

// clientPrefix begins the names of certificates that backends are shown, and is how they are told apart in what proxies
// say.
const clientPrefix = "client/"

// backendSecretName names a text that a feature has proxies tell a backend.
func backendSecretName(k model.BackendKey, name string) string {
	return "backend/" + clusterName(k) + "/" + name
}

// clientsName names how clients' certificates are judged: at a listener's port or, if policies say something of it, at
// the listener. Required and optional certificates have two names, so that no connection is judged by one and accepted
// by the other.
func clientsName(l model.Listener, stated plan.ListenerFields) string {
	name := clientsPrefix + strconv.Itoa(int(l.Port.Number))
	if stated.AsksClients() {
		name += "/" + l.Key.Section
	}
	if judgeClients(l, stated).GetTrustChainVerification() == tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED {
		name += "/optional"
	}
	return name
}

// clientsPrefix begins these names. Those of certificates begin with a kind.
const clientsPrefix = "clients/"

// objectName tells objects apart. Two kinds have the name XBackend.
func objectName(ref model.ObjectRef) string {
	if ref.Kind() == model.KindMCPBackend {
		return "mcp/" + ref.NamespacedName()
	}
	return strings.ToLower(ref.Kind().String()) + "/" + ref.NamespacedName()
}

// listenerName is the name of the Listener for one address of a port.
func listenerName(k model.PortKey, address string) string {
	return net.JoinHostPort(address, strconv.Itoa(int(k.Number)))
}

// sectionName names a listener among those of its port: its section, which is unique in one object, and that object
// unless it is the Gateway itself.
func sectionName(gateway model.ObjectRef, k model.ListenerKey) string {
	if k.Parent == gateway {
		return k.Section
	}
	return objectName(k.Parent) + "/" + k.Section
}

// tableName is the name of the route table that a listener's requests are looked up in. All HTTP listeners of a port
// share one, since only the Host header tells them apart; an HTTPS listener has its own, chosen by SNI.
func tableName(l model.Listener) string {
	port := strconv.Itoa(int(l.Port.Number))
	if l.Protocol == model.HTTPS {
		return port + "/" + sectionName(l.Gateway, l.Key) + "/" + shard
	}
	return port + "/" + shard
}

// tableOf is the route table that a listener's requests are looked up in.
func tableOf(l model.Listener) resource.Key {
	return resource.Key{Gateway: l.Gateway, Type: resource.Routes, Name: tableName(l)}
}

// ours tells whether this dialect renders what a data plane serves: that of every Envoy, whatever brings it there.
func ours(d model.DataPlane) bool {
	return d == model.DataPlaneEnvoy || d == model.DataPlaneEnvoyConfigMap
}

// servable tells whether a port is this dialect's, and it knows what the port speaks. A port with an unknown protocol
// is not rendered at all: a listener must not serve plaintext because its protocol is new.
func servable(d model.DataPlane, p model.Protocol, t model.Transport) bool {
	return ours(d) && t == model.TCP && (p == model.HTTP || p == model.HTTPS)
}

// ruleName names the routes of a rule.
func ruleName(k model.RuleKey) string { return objectName(k.Route) + "/" + k.Name }

// rulesByName finds the rules that a virtual host was made of, by the names of their routes.
func rulesByName(p *resource.Part) map[string]resource.Origin {
	rules := make(map[string]resource.Origin, len(p.Fragments))
	for _, f := range p.Fragments {
		rules[ruleName(f.Origin.Rule())] = f.Origin
	}
	return rules
}

func ruleOrigin(k model.RuleKey) resource.Origin {
	return resource.Origin{Object: k.Route, Section: k.Name}
}

func listenerOrigin(k model.ListenerKey) resource.Origin {
	return resource.Origin{Object: k.Parent, Section: k.Section}
}

// backendFragment says that a part is what a backend was rendered to.
func backendFragment(k model.BackendKey, hash uint64) resource.Fragment {
	return resource.Fragment{Origin: backendOrigin(k), Hash: hash, Port: k.Port, HTTP2: k.HTTP2,
		Picker: k.Picker}
}

func backendOrigin(k model.BackendKey) resource.Origin {
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
	return o
}
