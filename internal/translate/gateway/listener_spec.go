package gateway

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// listenerView is a listener as routes see it.
type listenerView struct {
	Key      model.ListenerKey
	Port     model.PortKey
	Hostname string
	Carries  model.Carried // see model.RouteListener
	Kinds    []model.Kind  // of routes that it takes
	From     gatewayv1.FromNamespaces
	Selector *metav1.LabelSelector
	Valid    bool // by its own spec, and without conflict
}

// listenerSpec is what one listener says by itself.
type listenerSpec struct {
	Field        string         // where it stands in its Gateway or ListenerSet: "spec.listeners[0]"
	Outranked    bool           // it is in conflict with a listener that comes first, which keeps what both want
	Protocol     model.Protocol // "": it is not declared
	Unserved     bool           // the data plane does not serve the protocol
	TLS          model.TLSMode
	Kinds        []model.Kind // of routes: those that it wants and can take
	Certificates []gatewayv1.SecretObjectReference
	Clients      clientSpec
	Overlaps     bool // its hostname overlaps with that of another TLS listener of the port
	Findings     []model.Finding
}

// listenerList is the listeners of one object: of a Gateway, or of a ListenerSet that it permits.
type listenerList struct {
	Parent    model.ObjectRef
	Listeners []gatewayv1.Listener
	Unknown   []string // fields of the object that this version does not know
}

// readListeners reads the listeners of a Gateway and of its ListenerSets, in the order in which they have precedence:
// each by itself, and then beside the others.
func readListeners(
	gateway model.ObjectRef, lists []listenerList, tls *gatewayv1.GatewayTLSConfig, environment model.Environment,
	takes listenerTakes,
) (views []listenerView, specs []listenerSpec) {
	for _, list := range lists {
		for i, l := range list.Listeners {
			ref, section := list.Parent, string(l.Name)
			read, problems := readListener(l, takes)
			read.Field = fmt.Sprintf("spec.listeners[%d]", i)
			if read.TLS == model.TLSTerminate {
				read.Clients = clientsOf(tls, l.Port)
			}
			read.Findings = append(read.Findings,
				problem.ToFindings(ref, section, "", unknownOfTLS(list.Unknown, i, read.TLS))...)
			if ref != gateway { // what the Gateway asks of clients holds for its sets
				read.Findings = append(read.Findings, problem.ToFindings(ref, section, read.Field,
					inGateway(gateway, unknownOfTLS(lists[0].Unknown, -1, read.TLS)))...)
			}
			if why := bindProblem(int32(l.Port), environment); why != "" {
				read.Findings = append(read.Findings, problem.ToFindings(ref, section, read.Field, []problem.Problem{{
					Field: ".port", Condition: "Accepted", Reason: "PortUnavailable", Message: why,
				}})...)
			}
			read.Findings = append(problem.ToFindings(ref, section, read.Field, problems), read.Findings...)
			views, specs = append(views, viewListener(gateway, ref, l, read)), append(specs, read)
		}
	}
	findConflicts(views, specs)
	findOverlaps(views, specs)
	for i := range specs {
		views[i].Valid = !problem.HasError(specs[i].Findings, "Accepted") &&
			!problem.HasError(specs[i].Findings, "Conflicted")
	}
	return views, specs
}

// inGateway are problems of fields of a Gateway, as a ListenerSet is told them.
func inGateway(gateway model.ObjectRef, problems []problem.Problem) []problem.Problem {
	for i := range problems {
		problems[i].Message = fmt.Sprintf("%s: %s: %s", gateway, problems[i].Field, problems[i].Message)
		problems[i].Field = ""
	}
	return problems
}

// unknownOfTLS are the problems of what a Gateway asks of the connections of a listener and is not known: without it
// the listener may take clients that it must not.
func unknownOfTLS(unknown []string, i int, mode model.TLSMode) (problems []problem.Problem) {
	if mode == "" {
		return nil
	}
	for _, field := range unknown {
		if strings.HasPrefix(field, fmt.Sprintf("listeners[%d].tls.", i)) ||
			strings.HasPrefix(field, "tls.frontend.") || field == model.MoreUnknown {
			problems = append(problems, listenerProblem("spec."+field,
				"this version of Cardea does not know the field; the listener does not serve"))
		}
	}
	return problems
}

// bindProblem says why no proxy can bind a listener's port; "" if one can.
func bindProblem(port int32, environment model.Environment) string {
	switch bind := port + environment.PortOffset; {
	case bind < 1 || bind > 65535:
		return fmt.Sprintf("with the port offset %d it is %d; ports are 1 to 65535", environment.PortOffset, bind)
	case bind == environment.ProbePort:
		return fmt.Sprintf("port %d is used for the kubelet's probes of the proxies; use another port", bind)
	case bind == environment.MetricsPort:
		return fmt.Sprintf("port %d is used for the metrics of the proxies; use another port", bind)
	}
	return ""
}

// viewListener is a listener as routes see it, but for whether it is valid.
func viewListener(gateway, parent model.ObjectRef, l gatewayv1.Listener, read listenerSpec) listenerView {
	protocol, _ := model.Protocol(l.Protocol).Declared()
	view := listenerView{
		Key:   model.ListenerKey{Parent: parent, Section: string(l.Name)},
		Port:  model.PortKey{Gateway: gateway, Number: int32(l.Port), Transport: protocol.Transport},
		Kinds: read.Kinds, Carries: read.Protocol.Carries(read.TLS), From: gatewayv1.NamespacesFromSame,
	}
	if l.Hostname != nil && (protocol.Hosts || protocol.Name == "") {
		view.Hostname = string(*l.Hostname)
	}
	if a := l.AllowedRoutes; a != nil && a.Namespaces != nil {
		if a.Namespaces.From != nil {
			view.From = *a.Namespaces.From
		}
		view.Selector = a.Namespaces.Selector
	}
	return view
}

// listenerProblem is the problem of a listener that can't be served as it is written.
func listenerProblem(field, message string) problem.Problem {
	return problem.Problem{Field: field, Condition: "Accepted", Reason: "UnsupportedValue", Message: message}
}

// readListener reads one listener by itself.
func readListener(l gatewayv1.Listener, takes listenerTakes) (read listenerSpec, problems []problem.Problem) {
	protocol, _ := model.Protocol(l.Protocol).Declared()
	read.Protocol = protocol.Name
	if read.Unserved = !slices.Contains(takes.protocols, read.Protocol); read.Unserved {
		return read, []problem.Problem{{
			Field: ".protocol", Condition: "Accepted", Reason: "UnsupportedProtocol",
			Message: fmt.Sprintf("protocol %s is not supported; use %s", l.Protocol, model.JoinChoices(takes.protocols)),
		}}
	}
	if len(protocol.Modes) > 0 {
		read.TLS, read.Certificates, problems = readListenerTLS(protocol, l.TLS)
		problems = problem.PrefixFields(".tls", problems)
	}
	if l.Filters != nil {
		problems = append(problems, listenerProblem(".filters",
			"filters of a listener are not supported; the listener does not serve without them"))
	}
	kinds, wrong := readKinds(l.AllowedRoutes, takes.kindsAt(read.Protocol, read.TLS))
	read.Kinds = kinds
	return read, append(problems, problem.PrefixFields(".allowedRoutes.kinds", wrong)...)
}

// readListenerTLS reads what a listener does with TLS, and which certificates it has.
func readListenerTLS(protocol model.DeclaredProtocol, tls *gatewayv1.ListenerTLSConfig) (
	mode model.TLSMode, list []gatewayv1.SecretObjectReference, problems []problem.Problem,
) {
	mode = protocol.Modes[0]
	missing := func(field, message string) {
		problems = append(problems, problem.NewUnresolved(field,
			problem.Unusable{Reason: "InvalidCertificateRef", Message: message}))
	}
	if tls == nil {
		missing("", oneListener(protocol.Name)+" needs tls.certificateRefs; it does not serve plain text")
		return mode, nil, problems
	}
	stated := mode
	if tls.Mode != nil {
		stated = model.TLSMode(*tls.Mode)
	}
	switch {
	case !slices.Contains(protocol.Modes, stated):
		problems = append(problems, listenerProblem(".mode",
			fmt.Sprintf("mode %s is not supported for %s; use %s", stated, protocol.Name, model.JoinChoices(protocol.Modes))))
	case stated == model.TLSPassthrough:
		mode = stated
	case len(tls.CertificateRefs) == 0:
		missing(".certificateRefs", oneListener(protocol.Name)+" needs a certificate")
	}
	if len(tls.Options) > 0 {
		problems = append(problems, problem.Problem{
			Severity: model.Warning, Field: ".options", Message: "Cardea knows no options here; they have no effect",
		})
	}
	return mode, tls.CertificateRefs, problems
}

// oneListener is "an HTTPS listener".
func oneListener(p model.Protocol) string {
	if strings.HasPrefix(string(p), "H") {
		return fmt.Sprintf("an %s listener", p)
	}
	return fmt.Sprintf("a %s listener", p)
}

// listenerTakes is what the listeners of a Gateway can take.
type listenerTakes struct {
	protocols []model.Protocol // that its data plane serves
	routes    []*kind.Kind
}

// kindsAt are the kinds of routes that attach to listeners of a protocol, in a mode.
func (t listenerTakes) kindsAt(p model.Protocol, mode model.TLSMode) (list []model.Kind) {
	for _, k := range t.routes {
		if k.Route.AttachesTo(p, mode) {
			list = append(list, k.Kind)
		}
	}
	return list
}

// readKinds reads which kinds of routes a listener wants, and leaves out those that it can't take.
func readKinds(allowed *gatewayv1.AllowedRoutes, can []model.Kind) (kinds []model.Kind, problems []problem.Problem) {
	if allowed == nil || len(allowed.Kinds) == 0 {
		return can, nil
	}
	for i, k := range allowed.Kinds {
		group := gatewayv1.GroupName
		if k.Group != nil {
			group = string(*k.Group)
		}
		switch kind := model.KindOf(group, string(k.Kind)); {
		case !slices.Contains(can, kind):
			problems = append(problems, problem.NewUnresolved(fmt.Sprintf("[%d]", i),
				problem.Unusable{Reason: "InvalidRouteKinds", Message: fmt.Sprintf(
					"routes of kind %s (group %q) are not supported here; use %s", k.Kind, group,
					model.JoinChoices(kindNames(can)))}))
		case !slices.Contains(kinds, kind):
			kinds = append(kinds, kind)
		}
	}
	return kinds, problems
}

func kindNames(kinds []model.Kind) (list []string) {
	for _, k := range kinds {
		list = append(list, k.String())
	}
	return list
}
