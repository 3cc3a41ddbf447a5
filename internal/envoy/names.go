package envoy

import (
	"net"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// invalidCluster takes the share of backends that don't resolve. It never exists; real names have slashes.
const invalidCluster = "invalid"

// shard is the only shard that a table has.
const shard = "0"

// http2Suffix ends the name of a cluster that speaks HTTP/2 because who sends to it does.
const http2Suffix = "h2"

func clusterName(k model.BackendKey) string {
	name := objectName(k.Object)
	if k.Port != 0 {
		name += "/" + strconv.Itoa(int(k.Port))
	}
	if k.HTTP2 {
		name += "/" + http2Suffix
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

func objectName(ref model.ObjectRef) string {
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

// TableOf is the route table that a listener's requests are looked up in.
func TableOf(l model.Listener) resource.Key {
	return resource.Key{Gateway: l.Gateway, Type: resource.Routes, Name: tableName(l)}
}

// ours tells whether this dialect renders what a data plane serves.
func ours(d model.DataPlane) bool { return d == model.DataPlaneEnvoy }

// servable tells whether a port is this dialect's, and it knows what the port speaks. What it doesn't know is not
// rendered at all: a listener must not serve plaintext because its protocol is new.
func servable(d model.DataPlane, p model.Protocol, t model.Transport) bool {
	return ours(d) && t == model.TCP && (p == model.HTTP || p == model.HTTPS)
}

func ruleOrigin(k model.RuleKey) resource.Origin {
	return resource.Origin{Object: k.Route, Section: k.Name}
}

func listenerOrigin(k model.ListenerKey) resource.Origin {
	return resource.Origin{Object: k.Parent, Section: k.Section}
}

func backendOrigin(k model.BackendKey) resource.Origin {
	o := resource.Origin{Object: k.Object}
	if k.Port != 0 {
		o.Section = strconv.Itoa(int(k.Port))
	}
	if k.HTTP2 {
		o.Section += "/" + http2Suffix
	}
	return o
}

// RuleNamed is the rule that a route is called after: "httproute/NAMESPACE/NAME/RULE". It is false for a route that is
// of no rule.
func RuleNamed(route string) (model.RuleKey, bool) {
	part := strings.SplitN(route, "/", 4)
	if len(part) < 4 {
		return model.RuleKey{}, false
	}
	kind, known := kindNamed(part[0])
	if !known {
		return model.RuleKey{}, false
	}
	return model.RuleKey{Route: model.Ref(kind, part[1], part[2]), Name: part[3]}, true
}

// ClusterOf is the cluster of a backend.
func ClusterOf(k plan.BackendKey) resource.Key { return backendResource(resource.Cluster)(k) }

// BackendNamed is the backend of a cluster; false for a cluster that stands for none.
func BackendNamed(cluster string) (model.BackendKey, bool) {
	part := strings.Split(cluster, "/") // names of objects have no slash
	if len(part) < 3 {
		return model.BackendKey{}, false
	}
	kind, known := kindNamed(part[0])
	b := model.BackendKey{Object: model.Ref(kind, part[1], part[2])}
	for _, p := range part[3:] { // as clusterName wrote it
		if p == http2Suffix {
			b.HTTP2 = true
			continue
		}
		port, _ := strconv.ParseInt(p, 10, 32)
		b.Port = int32(port)
	}
	return b, known
}

// kindNamed is the kind that a name made by objectName begins with.
func kindNamed(word string) (model.Kind, bool) {
	for _, kind := range []model.Kind{model.KindHTTPRoute, model.KindGRPCRoute, model.KindService, model.KindXBackend} {
		if strings.ToLower(kind.String()) == word {
			return kind, true
		}
	}
	return model.KindNone, false
}

// SecretNamed is the Secret of a certificate that a listener shows; false for others.
func SecretNamed(name string) (model.ObjectRef, bool) {
	part := strings.Split(name, "/") // as objectName wrote it
	if len(part) != 3 || part[0] != strings.ToLower(model.KindSecret.String()) {
		return model.ObjectRef{}, false
	}
	return model.Ref(model.KindSecret, part[1], part[2]), true
}

// ChainNamed is the filter chain that a part of a listener is, by the part's ID; "" if it is none.
func ChainNamed(part string) string {
	name, ok := strings.CutPrefix(part, chainPrefix)
	if !ok {
		return ""
	}
	return name
}
