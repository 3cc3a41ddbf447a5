package conditions

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// GatewayClassFacts is what is known of a GatewayClassStatus.
type GatewayClassFacts struct {
	Generation      int64
	Findings        []model.Finding
	InCluster       bool // proxies are deployed
	WaitingGateways int  // Gateways that it waits for while it is being deleted
	// versions of the GatewayStatus API that are installed, each once; none: the one that objects are read by here
	APIs []string
	// Definitions of the cluster that are not as Cardea reads them
	Definitions []model.Definition
}

// GatewayClassStatus is the class's status.
func GatewayClassStatus(c GatewayClassFacts) gatewayv1.GatewayClassStatus {
	l := conditionList{generation: c.Generation}
	if reason, message := errorsOn(c.Findings, "Accepted"); reason != "" {
		l.setCondition("Accepted", false, reason, message)
	} else if c.WaitingGateways > 0 {
		l.setCondition("Accepted", true, "Accepted", fmt.Sprintf(
			"the class is served by this controller; it is being deleted, and waits for %s",
			pluralize(c.WaitingGateways, "Gateway", "Gateways")))
	} else {
		l.setCondition("Accepted", true, "Accepted", "the class is served by this controller")
	}
	if strange := slices.DeleteFunc(slices.Clone(c.APIs), supportedAPI); len(strange) > 0 {
		l.setCondition("SupportedVersion", false, "UnsupportedVersion", fmt.Sprintf(
			"CRDs of Gateway API %s are installed, but Cardea is tested with %s.x; objects are served as far as Cardea "+
				"knows their fields",
			strings.Join(strange, ", "), testedAPI))
	} else {
		l.setCondition("SupportedVersion", true, "SupportedVersion",
			fmt.Sprintf("objects are read by the schemas of Gateway API %s", readAPI))
	}
	if c.InCluster {
		c.setInstalled(&l)
	}
	return gatewayv1.GatewayClassStatus{Conditions: l.conditions, SupportedFeatures: supportedFeatures(c.InCluster)}
}

const (
	readAPI   = "v1.7.0"
	testedAPI = "v1.7"
)

func supportedAPI(version string) bool { return strings.HasPrefix(version, testedAPI+".") }

// ListenerFacts is what is known of one listener.
type ListenerFacts struct {
	Affected []Affected
	Section  string
	Kinds    []model.Kind // that it takes
	Attached int
	Findings []model.Finding
	Overlaps bool
	Serves   bool // it is valid and has what it needs
	AckState resource.AckState
}

// GatewayFacts is what is known of a GatewayStatus.
type GatewayFacts struct {
	Affected   []Affected
	Generation int64
	Findings   []model.Finding
	Listeners  []ListenerFacts
	Bind       []string // that the proxies bind
	Fronted    bool     // the Front has the addresses, not the proxies
	Front      model.Front
	Answered   bool // Fronted: a proxy gets the requests to the Front's addresses
	Proxies    resource.ProxySummary
	DataPlane  model.DataPlane // if its proxies read files, Written counts in place of Proxies
	Written    resource.WrittenFiles
	// Refers: it names something by itself, beside its listeners.
	Refers bool
	// InsecureClients: clients may connect with certificates that are not valid.
	InsecureClients bool
	AttachedSets    *int32 // ListenerSets that are attached; nil: the Gateway permits none
}

// acceptedReason says why the GatewayStatus is not accepted; "" if it is.
func (g GatewayFacts) acceptedReason() (reason, message string) {
	if reason, message = errorsOn(g.Findings, "Accepted"); reason == "" && g.Front.Reason == "InvalidParameters" {
		return g.Front.Reason, g.Front.Message
	}
	return reason, message
}

// listAddresses are those that clients use.
func (g GatewayFacts) listAddresses() (list []gatewayv1.GatewayStatusAddress) {
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

// GatewayStatus is the GatewayStatus's status. It is Programmed when it has an address, every connected proxy has
// acknowledged all listeners that can serve (or they are written to its proxies' files), and one is ready to answer
// there.
func GatewayStatus(g GatewayFacts) gatewayv1.GatewayStatus {
	l := conditionList{generation: g.Generation}
	status := gatewayv1.GatewayStatus{Addresses: g.listAddresses(), AttachedListenerSets: g.AttachedSets}
	valid, programmed, unusable := 0, 0, false
	for _, listener := range g.Listeners {
		status.Listeners = append(status.Listeners, listenerStatus(g, listener))
		if listener.isUsable() {
			valid++
		}
		if _, address := listener.bindProblem(); address {
			unusable = true
		}
		if g.isProgrammed(listener) {
			programmed++
		}
	}
	accepted, message := g.acceptedReason()
	switch {
	case accepted != "":
		l.setCondition("Accepted", false, accepted, message)
	case valid == len(g.Listeners):
		l.setCondition("Accepted", true, "Accepted", "the Gateway is served")
	default:
		l.setCondition("Accepted", valid > 0, "ListenersNotValid",
			fmt.Sprintf("%d of %d listeners can serve; see their conditions", valid, len(g.Listeners)))
	}
	switch {
	case accepted == "" && unusable:
		l.setCondition("Programmed", false, "AddressNotUsable",
			"this machine does not have one of the addresses; see the listeners' conditions")
	case valid == 0:
		l.setCondition("Programmed", false, "Invalid", "no listener can serve")
	case accepted != "":
		l.setCondition("Programmed", false, "Invalid",
			"the Gateway is not accepted; existing proxies stay unchanged")
	case g.Front.Reason != "":
		l.setCondition("Programmed", false, g.Front.Reason, g.Front.Message)
	case g.Fronted && len(g.Front.Addresses) == 0:
		l.setCondition("Programmed", false, "AddressNotAssigned", "no address is assigned yet")
	default:
		fed := g.acknowledgedReason
		if g.DataPlane.ReadsFiles {
			fed = g.writtenReason
		}
		reason, message := fed(programmed, valid)
		l.setCondition("Programmed", reason == "Programmed", reason, message)
	}
	if g.Front.Note != "" {
		last := &l.conditions[len(l.conditions)-1]
		last.Message = truncate(last.Message + "; " + g.Front.Note)
	}
	g.setReferences(&l)
	l.setAffected(g.Affected)
	status.Conditions = l.conditions
	return status
}

// setReferences sets the conditions about what only some Gateways state.
func (g GatewayFacts) setReferences(l *conditionList) {
	if reason, message := errorsOn(g.Findings, "ResolvedRefs"); reason != "" {
		l.setCondition("ResolvedRefs", false, reason, message)
	} else if g.Refers {
		l.setCondition("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
	}
	if g.InsecureClients {
		l.setCondition(string(gatewayv1.GatewayConditionInsecureFrontendValidationMode), true,
			string(gatewayv1.GatewayReasonConfigurationChanged),
			"tls.frontend accepts clients without a valid certificate (AllowInsecureFallback)")
	}
}

// acknowledgedReason is the GatewayStatus's Programmed condition as far as its proxies say, if a server feeds them.
func (g GatewayFacts) acknowledgedReason(programmed, valid int) (reason, message string) {
	switch p := g.Proxies; {
	case p.Connected == 0:
		return "Pending", "no proxy is connected yet"
	case p.Acknowledged < p.Connected:
		return "Pending", fmt.Sprintf("%d of %d proxies have acknowledged their configuration", p.Acknowledged, p.Connected)
	case programmed < valid:
		return "Pending", fmt.Sprintf("%d of %d listeners are acknowledged by the proxies", programmed, valid)
	case g.Fronted && !g.Answered:
		return "Pending", fmt.Sprintf("acknowledged by %s, but none is ready yet",
			pluralize(p.Connected, "proxy", "proxies"))
	default:
		return "Programmed", "acknowledged by " + pluralize(p.Connected, "proxy", "proxies")
	}
}

func pluralize(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// isUsable tells whether the listener serves, as far as Cardea and the proxy know.
func (l ListenerFacts) isUsable() bool { return l.Serves && l.AckState.Refused == "" }

// pendingReason is why a listener that is valid takes no connections. It may be only a warning: a policy closes the
// listener that is right for others.
func (l ListenerFacts) pendingReason() (reason, message string) {
	all := slices.Clone(l.Findings)
	for i := range all {
		all[i].Severity = model.Error
	}
	return errorsOn(all, "Programmed")
}

// isProgrammed tells whether a listener takes connections. A proxy that starts opens all ports at once, when it has
// everything. If proxies read files, Cardea only knows that the files have the listener.
func (g GatewayFacts) isProgrammed(l ListenerFacts) bool {
	return l.isUsable() && l.AckState.Acknowledged && (g.DataPlane.ReadsFiles || g.Proxies.Acknowledged > 0)
}

// bindProblem says why the proxy could not bind the listener's port: it is in use or not allowed, which is the port's
// fault, or not this machine's, which is the address's.
func (l ListenerFacts) bindProblem() (port string, address bool) {
	words := l.AckState.Refused
	switch l.AckState.Kind {
	case resource.ContentRefused:
		return "", false
	case resource.AddressUnknown:
		return "", true
	case resource.PortForbidden:
		return "the proxy has no permission to bind the port; ports below 1024 need a privilege, or an offset: " +
			words, false
	}
	return "the proxy could not bind the port: " + words, false
}

func listenerStatus(g GatewayFacts, listener ListenerFacts) gatewayv1.ListenerStatus {
	l := conditionList{generation: g.Generation}
	conflict, conflictMessage := errorsOn(listener.Findings, "Conflicted")
	accepted, message := errorsOn(listener.Findings, "Accepted")
	port, address := listener.bindProblem()
	switch {
	case accepted != "":
		l.setCondition("Accepted", false, accepted, message)
	case conflict != "":
		l.setCondition("Accepted", false, conflict, conflictMessage)
	case port != "":
		l.setCondition("Accepted", false, "PortUnavailable", truncate(port))
	default:
		l.setCondition("Accepted", true, "Accepted", "the listener is valid")
	}
	if conflict != "" {
		l.setCondition("Conflicted", true, conflict, conflictMessage)
	} else {
		l.setCondition("Conflicted", false, "NoConflicts", "no other listener conflicts with it")
	}
	if reason, message := errorsOn(listener.Findings, "ResolvedRefs"); reason != "" {
		l.setCondition("ResolvedRefs", false, reason, message)
	} else {
		l.setCondition("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
	}
	pending, why := listener.pendingReason()
	switch {
	case listener.AckState.Refused != "" && listener.Serves:
		l.setCondition("Programmed", false, "Invalid", "the proxy rejected it: "+truncate(listener.AckState.Refused))
	case !listener.Serves && pending != "":
		l.setCondition("Programmed", false, pending, why)
	case !listener.Serves:
		l.setCondition("Programmed", false, "Invalid", "the listener can't serve; see its other conditions and those of "+
			"the Gateway")
	case g.DataPlane.ReadsFiles:
		reason, message := g.listenerWrittenReason(listener)
		l.setCondition("Programmed", reason == "Programmed", reason, message)
	case !g.isProgrammed(listener):
		l.setCondition("Programmed", false, "Pending", "the proxies have not acknowledged it yet")
	default:
		l.setCondition("Programmed", true, "Programmed", "the proxies have acknowledged it")
	}
	if listener.AckState.Refused != "" && listener.Serves && port == "" && !address {
		l.setCondition(Programmed, false, "RejectedByProxy", truncate(listener.AckState.Refused)) // as routes say it
	}
	if listener.Overlaps {
		l.setCondition("OverlappingTLSConfig", true, "OverlappingHostnames",
			"the hostname overlaps with that of another TLS listener of this port; a client may reuse a connection for the "+
				"wrong listener")
	}
	l.setAffected(listener.Affected)
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
