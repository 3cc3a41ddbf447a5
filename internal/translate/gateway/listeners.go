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
	Serves   bool // its Gateway and itself are valid, and it has what it needs
	// Authorities are those by which its clients are judged.
	Authorities []model.MaterialKey
	Findings    []model.Finding
}

func (f listenerFacts) isServed() bool { return f.Serves }

func listenersOf(
	refs reference.Lookups,
) func(*flow.Ctx, model.ObjectRef, gatewayFacts, func(model.ListenerKey, listenerFacts)) {
	return func(c *flow.Ctx, ref model.ObjectRef, g gatewayFacts, emit func(model.ListenerKey, listenerFacts)) {
		for i, view := range g.Listeners {
			spec := g.ListenerSpecs[i]
			f := listenerFacts{
				Listener: model.Listener{Key: view.Key, Gateway: ref, DataPlane: g.Proxy.DataPlane, Port: view.Port,
					Protocol: spec.Protocol, TLS: spec.TLS, Hostname: view.Hostname, AccessLog: g.AccessLog},
				Kinds: spec.Kinds, Overlaps: spec.Overlaps, Findings: slices.Clone(spec.Findings),
			}
			for j, cert := range spec.Certificates {
				field := fmt.Sprintf("spec.listeners[%d].tls.certificateRefs[%d]", i, j)
				secret, why := refs.Certificates.Resolve(c, ref, cert)
				if !why.IsZero() {
					p := problem.NewUnresolved("", why)
					if why.Reason == "Pending" {
						p.Condition = "Programmed" // whether it resolves is not known
					}
					f.Findings = append(f.Findings, problem.ToFindings(ref, view.Key.Section, field, []problem.Problem{p})...)
				}
				if secret != (model.ObjectRef{}) && !slices.Contains(f.Listener.Certificates, secret) {
					f.Listener.Certificates = append(f.Listener.Certificates, secret)
				}
			}
			judged, authorities, wrong := readClientValidation(refs.Clients, c, ref, spec.Clients)
			f.Listener.Clients, f.Authorities = judged, authorities
			f.Findings = append(f.Findings, problem.ToFindings(ref, view.Key.Section, "", wrong)...)
			f.Findings = append(f.Findings, problem.ToFindings(ref, view.Key.Section, fmt.Sprintf("spec.listeners[%d]", i),
				warnUncovered(refs.Certificates, c, f.Listener, len(spec.Certificates)))...)
			f.Serves = g.isServed() && view.Valid && !problem.HasError(f.Findings, "Accepted") &&
				(spec.TLS != model.TLSTerminate || len(f.Listener.Certificates) > 0)
			emit(view.Key, f)
		}
	}
}

// portOf joins the listeners of a port. A listener that can't serve is among them, unless another one serves its
// hostname: then it has no hosts to keep. If none can serve, there is no port.
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
			if !f.Serves && served[strings.ToLower(f.Listener.Hostname)] {
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

// findConflicts marks all listeners of a port that disagree on its protocol, or that have one hostname: none may win
// (ListenerConditionConflicted).
func findConflicts(ref model.ObjectRef, views []listenerView, specs []listenerSpec) {
	for i := range views {
		for j := range views {
			f := model.Finding{Object: ref, Section: views[i].Key.Section, Condition: "Conflicted"}
			switch other := views[j].Key.Section; {
			case i == j || views[i].Port != views[j].Port:
				continue
			case !specs[i].Unserved && !specs[j].Unserved && !specs[i].Protocol.CanShare(specs[j].Protocol):
				f.Reason, f.Field = "ProtocolConflict", fmt.Sprintf("spec.listeners[%d].protocol", i)
				f.Message = fmt.Sprintf("port %d has the protocol %s here, but %s in listener %s",
					views[i].Port.Number, specs[i].Protocol, specs[j].Protocol, other)
			case specs[i].Protocol != "" && specs[j].Protocol != "" && specs[i].Protocol.CanShare(specs[j].Protocol) &&
				strings.EqualFold(views[i].Hostname, views[j].Hostname):
				f.Reason, f.Field = "HostnameConflict", fmt.Sprintf("spec.listeners[%d].hostname", i)
				f.Message = fmt.Sprintf("port %d has the hostname %q in listener %s, too", views[i].Port.Number,
					model.HostnameDomain(views[i].Hostname), other)
			default:
				continue
			}
			specs[i].Findings = append(specs[i].Findings, f)
			break
		}
	}
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
