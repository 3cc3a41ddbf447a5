package gateway

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/reference"
	"cardea.dev/cardea/internal/translate/resolve"
)

// listenerFacts is a listener with its references resolved.
type listenerFacts struct {
	Listener model.Listener
	Kinds    []model.Kind
	Overlaps bool
	// Outranked: a listener that comes first has what this one wants. It keeps no hosts.
	Outranked bool
	Serves    bool // its Gateway and itself are valid, and it has what it needs
	// Authorities are those by which its clients are judged.
	Authorities []model.MaterialKey
	Findings    []model.Finding
}

func (f listenerFacts) isServed() bool { return f.Serves }

// newListeners has the listeners of Gateways and of the ListenerSets that they permit.
func (m *Translator) newListeners(refs reference.Lookups) *flow.Collection[model.ListenerKey, listenerFacts] {
	same := func(_ *flow.Ctx, _ model.ListenerKey, f listenerFacts) (listenerFacts, bool) { return f, true }
	own := flow.Derive(m.gateways, "listener/own",
		func(c *flow.Ctx, ref model.ObjectRef, g gatewayFacts, emit func(model.ListenerKey, listenerFacts)) {
			resolveListeners(c, refs, ref, g, ref, emit)
		})
	sets := flow.Derive(m.in.ListenerSets.Collection(), "listener/sets",
		func(c *flow.Ctx, set model.ObjectRef, o setObject, emit func(model.ListenerKey, listenerFacts)) {
			gateway := parentGateway(set, o.Spec)
			if g, ours := flow.Fetch(c, m.gateways, gateway); ours {
				resolveListeners(c, refs, gateway, g, set, emit)
			}
		})
	return flow.Merge("listener", flow.From(own, same), flow.From(sets, same))
}

// resolveListeners resolves the references of a Gateway's listeners that stand in an object: in itself, or in a
// ListenerSet.
func resolveListeners(
	c *flow.Ctx, refs reference.Lookups, gateway model.ObjectRef, g gatewayFacts, from model.ObjectRef,
	emit func(model.ListenerKey, listenerFacts),
) {
	for i, view := range g.Listeners {
		if view.Key.Parent != from {
			continue
		}
		spec, section := g.ListenerSpecs[i], view.Key.Section
		f := listenerFacts{
			Listener: model.Listener{Key: view.Key, Gateway: gateway, DataPlane: g.Proxy.DataPlane, Port: view.Port,
				Protocol: spec.Protocol, TLS: spec.TLS, Hostname: view.Hostname, AccessLog: g.AccessLog},
			Kinds: spec.Kinds, Overlaps: spec.Overlaps, Outranked: spec.Outranked, Findings: slices.Clone(spec.Findings),
		}
		tell := func(field string, problems ...problem.Problem) {
			f.Findings = append(f.Findings, problem.ToFindings(from, section, field, problems)...)
		}
		for j, cert := range spec.Certificates {
			secret, why := refs.Certificates.Resolve(c, from, cert)
			if !why.IsZero() {
				p := problem.NewUnresolved("", why)
				if why.Reason == "Pending" {
					p.Condition = "Programmed" // whether it resolves is not known
				}
				tell(fmt.Sprintf("%s.tls.certificateRefs[%d]", spec.Field, j), p)
			}
			if secret != (model.ObjectRef{}) && !slices.Contains(f.Listener.Certificates, secret) {
				f.Listener.Certificates = append(f.Listener.Certificates, secret)
			}
		}
		judged, authorities, wrong := readClientValidation(refs.Clients, c, gateway, spec.Clients)
		f.Listener.Clients, f.Authorities = judged, authorities
		if from == gateway {
			tell("", wrong...)
		} else {
			tell(spec.Field, inGateway(gateway, wrong)...)
		}
		tell(spec.Field, warnUncovered(refs.Certificates, c, f.Listener, len(spec.Certificates))...)
		f.Serves = g.isServed() && view.Valid && !problem.HasError(f.Findings, "Accepted") &&
			(spec.TLS != model.TLSTerminate || len(f.Listener.Certificates) > 0)
		emit(view.Key, f)
	}
}

// portOf joins the listeners of a port. A listener that can't serve is among them, unless another one serves its
// hostname or comes first: then it has no hosts to keep. If none can serve, there is no port.
func portOf(
	gateways *flow.Collection[model.ObjectRef, gatewayFacts],
) func(*flow.Ctx, model.PortKey, flow.Members[model.ListenerKey, listenerFacts]) (model.Port, bool) {
	return func(c *flow.Ctx, key model.PortKey, listeners flow.Members[model.ListenerKey, listenerFacts]) (model.Port,
		bool) {
		g, _ := flow.Fetch(c, gateways, key.Gateway)
		p := model.Port{
			Key: key, BindPort: key.Number + g.PortOffset, Addresses: g.Bind, DataPlane: g.Proxy.DataPlane,
			AccessLog: g.AccessLog,
		}
		served := map[string]bool{}
		for _, f := range listeners.All() {
			if f.Serves {
				p.Protocol = f.Listener.Protocol
				served[strings.ToLower(f.Listener.Hostname)] = true
			}
		}
		for k, f := range listeners.All() {
			if !f.Serves && (f.Outranked || served[strings.ToLower(f.Listener.Hostname)]) {
				continue
			}
			p.Listeners = append(p.Listeners, model.PortListener{Key: k, Hostname: f.Listener.Hostname, Serves: f.Serves})
		}
		return p, p.Protocol != ""
	}
}

// warnUncovered warns of a listener that has no certificate for its hostname: clients refuse those that it has. It says
// nothing of a listener that takes every host, or that states a certificate which did not resolve.
func warnUncovered(
	in reference.Certificates, c *flow.Ctx, l model.Listener, stated int) []problem.Problem {
	if l.Hostname == "" || len(l.Certificates) == 0 || len(l.Certificates) < stated {
		return nil
	}
	var names []string
	for _, ref := range l.Certificates {
		found, _, _ := in.ReadCertificate(c, ref)
		if len(found.Names) == 0 {
			return nil // it was not read (Options.Unchecked), or a client has to know it by other means
		}
		names = append(names, found.Names...)
	}
	if slices.ContainsFunc(names, func(name string) bool { return resolve.NameCovers(name, l.Hostname) }) {
		return nil
	}
	slices.Sort(names)
	return []problem.Problem{{Severity: model.Warning, Field: ".tls.certificateRefs", Message: fmt.Sprintf(
		"no certificate is valid for %s, so clients reject the connection (names in the certificates: %s); add the "+
			"hostname to a certificate's subjectAltName",
		l.Hostname, model.JoinSome(slices.Compact(names)))}}
}

// findConflicts marks listeners of a port that disagree on its protocol, or that have one hostname. Of two objects the
// first one wins (GEP-1713); in one object none may win (ListenerConditionConflicted).
func findConflicts(views []listenerView, specs []listenerSpec) {
	byPort := map[model.PortKey][]int{}
	for i := range views {
		byPort[views[i].Port] = append(byPort[views[i].Port], i)
	}
	for i := range views {
		for _, j := range byPort[views[i].Port] {
			if j >= i {
				break
			}
			if reason := conflictOf(views, specs, i, j); reason != "" && views[i].Key.Parent != views[j].Key.Parent &&
				!specs[j].Outranked {
				specs[i].Outranked = true
				specs[i].Findings = append(specs[i].Findings, describeConflict(reason, views, specs, i, j))
				break
			}
		}
	}
	for i := range views {
		for _, j := range byPort[views[i].Port] {
			if views[i].Key.Parent != views[j].Key.Parent || specs[i].Outranked || specs[j].Outranked {
				continue
			}
			if reason := conflictOf(views, specs, i, j); reason != "" {
				specs[i].Findings = append(specs[i].Findings, describeConflict(reason, views, specs, i, j))
				break
			}
		}
	}
}

// The reasons of conflicts (ListenerReason...).
const (
	protocolConflict = "ProtocolConflict"
	hostnameConflict = "HostnameConflict"
)

// conflictOf is the reason why two listeners of one port can't both serve; "": they can.
func conflictOf(views []listenerView, specs []listenerSpec, i, j int) string {
	a, b := specs[i], specs[j]
	switch {
	case i == j:
		return ""
	case !a.Unserved && !b.Unserved && !a.Protocol.CanShare(b.Protocol):
		return protocolConflict
	case a.Protocol != "" && b.Protocol != "" && a.Protocol.CanShare(b.Protocol) &&
		strings.EqualFold(views[i].Hostname, views[j].Hostname):
		return hostnameConflict
	}
	return ""
}

// describeConflict tells a listener with which other one it is in conflict.
func describeConflict(reason string, views []listenerView, specs []listenerSpec, i, j int) model.Finding {
	own, beside := views[i].Key, views[j].Key
	other := beside.Section
	if own.Parent != beside.Parent {
		other += " of " + beside.Parent.String()
	}
	f := model.Finding{Object: own.Parent, Section: own.Section, Condition: "Conflicted", Reason: reason}
	if reason == protocolConflict {
		f.Field = specs[i].Field + ".protocol"
		f.Message = fmt.Sprintf("port %d has the protocol %s here, but %s in listener %s", views[i].Port.Number,
			specs[i].Protocol, specs[j].Protocol, other)
		return f
	}
	f.Field = specs[i].Field + ".hostname"
	f.Message = fmt.Sprintf("port %d has the hostname %q in listener %s, too", views[i].Port.Number,
		model.HostnameDomain(views[i].Hostname), other)
	return f
}

// findOverlaps marks listeners of one port that terminate TLS, and that a client can mix up: it may reuse a connection
// for another host, although that host's SNI would have led to another listener
// (ListenerConditionOverlappingTLSConfig).
func findOverlaps(views []listenerView, specs []listenerSpec) {
	for i := range views {
		for j := range views {
			if i != j && views[i].Port == views[j].Port && specs[i].TLS == model.TLSTerminate &&
				specs[j].TLS == model.TLSTerminate &&
				len(resolve.IntersectHostnames(views[i].Hostname, []string{model.HostnameDomain(views[j].Hostname)})) > 0 {
				specs[i].Overlaps = true
			}
		}
	}
}
