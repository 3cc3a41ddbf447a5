package conditions

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Class is what is known of a GatewayClass.
type Class struct {
	Generation int64
	Findings   []model.Finding
	InCluster  bool // proxies are deployed
	Keep       int  // Gateways that it waits for while it is being deleted
	// versions of the Gateway API that are installed, each once; none: the one that objects are read by here
	APIs []string
	// Definitions of the cluster that are not as Cardea reads them
	Definitions []model.Definition
}

// GatewayClass is the class's status.
func GatewayClass(c Class) gatewayv1.GatewayClassStatus {
	l := list{generation: c.Generation}
	if reason, message := errorsOn(c.Findings, "Accepted"); reason != "" {
		l.set("Accepted", false, reason, message)
	} else if c.Keep > 0 {
		l.set("Accepted", true, "Accepted", fmt.Sprintf(
			"the class is served by this controller; it is being deleted, and waits for %s",
			count(c.Keep, "Gateway", "Gateways")))
	} else {
		l.set("Accepted", true, "Accepted", "the class is served by this controller")
	}
	if strange := slices.DeleteFunc(slices.Clone(c.APIs), supportedAPI); len(strange) > 0 {
		l.set("SupportedVersion", false, "UnsupportedVersion", fmt.Sprintf(
			"CRDs of Gateway API %s are installed, and %s.x is what is tested; objects are served as far as they are understood",
			strings.Join(strange, ", "), testedAPI))
	} else {
		l.set("SupportedVersion", true, "SupportedVersion",
			fmt.Sprintf("objects are read by the schemas of Gateway API %s", readAPI))
	}
	if c.InCluster {
		c.installed(&l)
	}
	return gatewayv1.GatewayClassStatus{Conditions: l.conditions, SupportedFeatures: supportedFeatures(c.InCluster)}
}

const (
	readAPI   = "v1.7.0"
	testedAPI = "v1.7"
)

func supportedAPI(version string) bool { return strings.HasPrefix(version, testedAPI+".") }

// Listener is what is known of one listener.
type Listener struct {
	Affected []Affected
	Section  string
	Kinds    []model.Kind // that it takes
	Attached int
	Findings []model.Finding
	Overlaps bool
	Serves   bool // it is valid and has what it needs
	Standing resource.Standing
}

// GatewayFacts is what is known of a Gateway.
type GatewayFacts struct {
	Affected   []Affected
	Generation int64
	Findings   []model.Finding
	Listeners  []Listener
	Bind       []string // that the proxies bind
	Fronted    bool     // the Front has the addresses, not the proxies
	Front      model.Front
	Answered   bool // Fronted: a proxy gets the requests to the Front's addresses
	Proxies    resource.Proxies
	DataPlane  model.DataPlane // if its proxies read files, Written counts in place of Proxies
	Written    resource.Written
	// Refers: it names something by itself, beside its listeners.
	Refers bool
	// InsecureClients: clients may connect with certificates that are not valid.
	InsecureClients bool
}

// accepted says why the Gateway is not accepted; "" if it is.
func (g GatewayFacts) accepted() (reason, message string) {
	if reason, message = errorsOn(g.Findings, "Accepted"); reason == "" && g.Front.Reason == "InvalidParameters" {
		return g.Front.Reason, g.Front.Message
	}
	return reason, message
}

// addresses are those that clients use.
func (g GatewayFacts) addresses() (list []gatewayv1.GatewayStatusAddress) {
	add := func(kind gatewayv1.AddressType, value string) {
		list = append(list, gatewayv1.GatewayStatusAddress{Type: &kind, Value: value})
	}
	for _, a := range g.Front.Addresses {
		if a.Hostname {
			add(gatewayv1.HostnameAddressType, a.Value)
		} else {
			add(gatewayv1.IPAddressType, a.Value)
		}
	}
	if !g.Fronted {
		for _, a := range g.Bind {
			add(gatewayv1.IPAddressType, a)
		}
	}
	return list
}

// Gateway is the Gateway's status. It is Programmed when it has an address, every connected proxy has acknowledged all
// listeners that can serve (or they are written to its proxies' files), and one is ready to answer there.
func Gateway(g GatewayFacts) gatewayv1.GatewayStatus {
	l := list{generation: g.Generation}
	status := gatewayv1.GatewayStatus{Addresses: g.addresses()}
	valid, programmed, unusable := 0, 0, false
	for _, listener := range g.Listeners {
		status.Listeners = append(status.Listeners, listenerStatus(g, listener))
		if listener.usable() {
			valid++
		}
		if _, address := listener.unbound(); address {
			unusable = true
		}
		if g.programmed(listener) {
			programmed++
		}
	}
	accepted, message := g.accepted()
	switch {
	case accepted != "":
		l.set("Accepted", false, accepted, message)
	case valid == len(g.Listeners):
		l.set("Accepted", true, "Accepted", "the Gateway is served")
	default:
		l.set("Accepted", valid > 0, "ListenersNotValid",
			fmt.Sprintf("%d of %d listeners can serve; see their conditions", valid, len(g.Listeners)))
	}
	switch {
	case accepted == "" && unusable:
		l.set("Programmed", false, "AddressNotUsable",
			"an address is not one of this machine's; see the listeners' conditions")
	case valid == 0:
		l.set("Programmed", false, "Invalid", "no listener can serve")
	case accepted != "":
		l.set("Programmed", false, "Invalid", "the Gateway is not accepted; its proxies, if there are any, stay as they are")
	case g.Front.Reason != "":
		l.set("Programmed", false, g.Front.Reason, g.Front.Message)
	case g.Fronted && len(g.Front.Addresses) == 0:
		l.set("Programmed", false, "AddressNotAssigned", "no address is assigned yet")
	default:
		fed := g.acknowledged
		if g.DataPlane.ReadsFiles() {
			fed = g.written
		}
		reason, message := fed(programmed, valid)
		l.set("Programmed", reason == "Programmed", reason, message)
	}
	if g.Front.Note != "" {
		last := &l.conditions[len(l.conditions)-1]
		last.Message = cut(last.Message + "; " + g.Front.Note)
	}
	g.references(&l)
	l.affected(g.Affected)
	status.Conditions = l.conditions
	return status
}

// references sets the conditions about what only some Gateways state.
func (g GatewayFacts) references(l *list) {
	if reason, message := errorsOn(g.Findings, "ResolvedRefs"); reason != "" {
		l.set("ResolvedRefs", false, reason, message)
	} else if g.Refers {
		l.set("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
	}
	if g.InsecureClients {
		l.set(string(gatewayv1.GatewayConditionInsecureFrontendValidationMode), true,
			string(gatewayv1.GatewayReasonConfigurationChanged),
			"tls.frontend lets clients in whose certificates are not valid (AllowInsecureFallback)")
	}
}

// acknowledged is the Gateway's Programmed condition as far as its proxies say, if a server feeds them.
func (g GatewayFacts) acknowledged(programmed, valid int) (reason, message string) {
	switch p := g.Proxies; {
	case p.Connected == 0:
		return "Pending", "no proxy is connected yet"
	case p.Acknowledged < p.Connected:
		return "Pending", fmt.Sprintf("%d of %d proxies have acknowledged their configuration", p.Acknowledged, p.Connected)
	case programmed < valid:
		return "Pending", fmt.Sprintf("%d of %d listeners are acknowledged by the proxies", programmed, valid)
	case g.Fronted && !g.Answered:
		return "Pending", fmt.Sprintf("acknowledged by %s, of which none is ready yet",
			count(p.Connected, "proxy", "proxies"))
	default:
		return "Programmed", "acknowledged by " + count(p.Connected, "proxy", "proxies")
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// usable tells whether the listener serves, as far as Cardea and the proxy know.
func (l Listener) usable() bool { return l.Serves && l.Standing.Refused == "" }

// programmed tells whether a listener takes connections. A proxy that starts opens all ports at once, when it has
// everything. If proxies read files, Cardea only knows that the files have the listener.
func (g GatewayFacts) programmed(l Listener) bool {
	return l.usable() && l.Standing.Acknowledged && (g.DataPlane.ReadsFiles() || g.Proxies.Acknowledged > 0)
}

// unbound says why the proxy could not bind the listener's port: it is in use or not allowed, which is the port's
// fault, or not this machine's, which is the address's.
func (l Listener) unbound() (port string, address bool) {
	words := l.Standing.Refused
	switch l.Standing.Kind {
	case resource.ContentRefused:
		return "", false
	case resource.AddressUnknown:
		return "", true
	case resource.PortForbidden:
		return "the proxy may not bind the port: those below 1024 need a privilege, or an offset: " + words, false
	}
	return "the proxy could not bind the port: " + words, false
}

func listenerStatus(g GatewayFacts, listener Listener) gatewayv1.ListenerStatus {
	l := list{generation: g.Generation}
	conflict, conflictMessage := errorsOn(listener.Findings, "Conflicted")
	accepted, message := errorsOn(listener.Findings, "Accepted")
	port, address := listener.unbound()
	switch {
	case accepted != "":
		l.set("Accepted", false, accepted, message)
	case conflict != "":
		l.set("Accepted", false, conflict, conflictMessage)
	case port != "":
		l.set("Accepted", false, "PortUnavailable", cut(port))
	default:
		l.set("Accepted", true, "Accepted", "the listener is valid")
	}
	if conflict != "" {
		l.set("Conflicted", true, conflict, conflictMessage)
	} else {
		l.set("Conflicted", false, "NoConflicts", "no other listener conflicts with it")
	}
	if reason, message := errorsOn(listener.Findings, "ResolvedRefs"); reason != "" {
		l.set("ResolvedRefs", false, reason, message)
	} else {
		l.set("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
	}
	pending, why := errorsOn(listener.Findings, "Programmed")
	switch {
	case listener.Standing.Refused != "" && listener.Serves:
		l.set("Programmed", false, "Invalid", "the proxy refused it: "+cut(listener.Standing.Refused))
	case !listener.Serves && pending != "":
		l.set("Programmed", false, pending, why)
	case !listener.Serves:
		l.set("Programmed", false, "Invalid", "the listener can't serve; see its other conditions and the Gateway's")
	case g.DataPlane.ReadsFiles():
		reason, message := g.listenerWritten(listener)
		l.set("Programmed", reason == "Programmed", reason, message)
	case !g.programmed(listener):
		l.set("Programmed", false, "Pending", "the proxies have not acknowledged it yet")
	default:
		l.set("Programmed", true, "Programmed", "the proxies have acknowledged it")
	}
	if listener.Standing.Refused != "" && listener.Serves && port == "" && !address {
		l.set(Programmed, false, "RejectedByProxy", cut(listener.Standing.Refused)) // as routes say it
	}
	if listener.Overlaps {
		l.set("OverlappingTLSConfig", true, "OverlappingHostnames",
			"the hostname overlaps with that of another TLS listener of this port; a client may reuse a connection for the "+
				"wrong one")
	}
	l.affected(listener.Affected)
	return gatewayv1.ListenerStatus{
		Name: gatewayv1.SectionName(listener.Section), SupportedKinds: routeKinds(listener.Kinds),
		AttachedRoutes: int32(listener.Attached), Conditions: l.conditions,
	}
}

// routeKinds is never nil: an empty list says that no kind is supported.
func routeKinds(kinds []model.Kind) []gatewayv1.RouteGroupKind {
	out := make([]gatewayv1.RouteGroupKind, 0, len(kinds))
	for _, k := range kinds {
		group := gatewayv1.Group(k.Group())
		out = append(out, gatewayv1.RouteGroupKind{Group: &group, Kind: gatewayv1.Kind(k.String())})
	}
	return out
}
