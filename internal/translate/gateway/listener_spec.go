package gateway

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// listenerView is a listener as routes see it.
type listenerView struct {
	Key      model.ListenerKey
	Port     model.PortKey
	Hostname string
	Kinds    []model.Kind // of routes that it takes
	From     gatewayv1.FromNamespaces
	Selector *metav1.LabelSelector
	Valid    bool // by its own spec, and without conflict
}

// listenerSpec is what one listener says by itself.
type listenerSpec struct {
	Protocol     model.Protocol
	Kinds        []model.Kind // of routes: those that it wants and can take
	Certificates []gatewayv1.SecretObjectReference
	Clients      clientSpec
	Overlaps     bool // its hostname overlaps with that of another TLS listener of the port
	Findings     []model.Finding
}

// readListeners reads the listeners of a Gateway: each by itself, and then beside the others. unknown are the fields of
// the Gateway that this version does not know.
func readListeners(
	ref model.ObjectRef, spec *gatewayv1.GatewaySpec, unknown []string, environment model.Environment,
) (views []listenerView, specs []listenerSpec) {
	for i, l := range spec.Listeners {
		section, field := string(l.Name), fmt.Sprintf("spec.listeners[%d]", i)
		read, problems := readListener(l)
		if l.Protocol == gatewayv1.HTTPSProtocolType {
			read.Clients = clientsOf(spec.TLS, l.Port)
		}
		read.Findings = append(read.Findings, findings(ref, section, "", unknownOfTLS(unknown, i, l.Protocol))...)
		if why := unbindable(int32(l.Port), environment); why != "" {
			read.Findings = append(read.Findings, findings(ref, section, field, []problem{{
				field: ".port", condition: "Accepted", reason: "PortUnavailable", message: why,
			}})...)
		}
		read.Findings = append(findings(ref, section, field, problems), read.Findings...)
		views, specs = append(views, viewListener(ref, l, read.Kinds)), append(specs, read)
	}
	findConflicts(ref, views, specs)
	findOverlaps(views, specs)
	for i := range specs {
		views[i].Valid = !hasError(specs[i].Findings, "Accepted") && !hasError(specs[i].Findings, "Conflicted")
	}
	return views, specs
}

// unknownOfTLS are the problems of what a Gateway asks of the connections of a listener and is not known: without it
// the listener may take clients that it must not.
func unknownOfTLS(unknown []string, i int, protocol gatewayv1.ProtocolType) (problems []problem) {
	if protocol != gatewayv1.HTTPSProtocolType {
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

// unbindable says why no proxy can bind a listener's port; "" if one can.
func unbindable(port int32, environment model.Environment) string {
	switch bind := port + environment.PortOffset; {
	case bind < 1 || bind > 65535:
		return fmt.Sprintf("with the port offset %d it is %d; ports are 1 to 65535", environment.PortOffset, bind)
	case bind == environment.ProbePort:
		return fmt.Sprintf("the proxies answer the kubelet's probes on port %d", bind)
	case bind == environment.MetricsPort:
		return fmt.Sprintf("the proxies answer Prometheus on port %d", bind)
	}
	return ""
}

// viewListener is a listener as routes see it, but for whether it is valid.
func viewListener(ref model.ObjectRef, l gatewayv1.Listener, kinds []model.Kind) listenerView {
	view := listenerView{
		Key:   model.ListenerKey{Parent: ref, Section: string(l.Name)},
		Port:  model.PortKey{Gateway: ref, Number: int32(l.Port), Transport: model.TCP},
		Kinds: kinds, From: gatewayv1.NamespacesFromSame,
	}
	if l.Hostname != nil {
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
func listenerProblem(field, message string) problem {
	return problem{field: field, condition: "Accepted", reason: "UnsupportedValue", message: message}
}

// readListener reads one listener by itself.
func readListener(l gatewayv1.Listener) (read listenerSpec, problems []problem) {
	switch l.Protocol {
	case gatewayv1.HTTPProtocolType:
		read.Protocol = model.HTTP
	case gatewayv1.HTTPSProtocolType:
		read.Protocol = model.HTTPS
		read.Certificates, problems = readListenerTLS(l.TLS)
		problems = below(".tls", problems)
	default:
		if l.Protocol == gatewayv1.TLSProtocolType {
			read.Protocol = model.TLS
		}
		return read, []problem{{
			field: ".protocol", condition: "Accepted", reason: "UnsupportedProtocol",
			message: fmt.Sprintf("protocol %s is not supported; use HTTP or HTTPS", l.Protocol),
		}}
	}
	if l.Filters != nil {
		problems = append(problems, listenerProblem(".filters",
			"filters of a listener are not supported; the listener does not serve without them"))
	}
	kinds, wrong := readKinds(l.AllowedRoutes)
	read.Kinds = kinds
	return read, append(problems, below(".allowedRoutes.kinds", wrong)...)
}

// readListenerTLS reads which certificates an HTTPS listener has.
func readListenerTLS(tls *gatewayv1.ListenerTLSConfig) (list []gatewayv1.SecretObjectReference, problems []problem) {
	missing := func(field, message string) {
		problems = append(problems, unresolved(field, unusable{"InvalidCertificateRef", message}))
	}
	switch {
	case tls == nil:
		missing("", "an HTTPS listener needs tls.certificateRefs; it does not serve plain text")
		return nil, problems
	case tls.Mode != nil && *tls.Mode != gatewayv1.TLSModeTerminate:
		problems = append(problems, listenerProblem(".mode",
			fmt.Sprintf("mode %s is not supported for HTTPS; use Terminate", *tls.Mode)))
	case len(tls.CertificateRefs) == 0:
		missing(".certificateRefs", "an HTTPS listener needs a certificate")
	}
	if len(tls.Options) > 0 {
		problems = append(problems, problem{
			severity: model.Warning, field: ".options", message: "no option is known here; they have no effect",
		})
	}
	return tls.CertificateRefs, problems
}

// httpKinds are the kinds of routes that a listener for HTTP can take.
var httpKinds = []model.Kind{model.KindHTTPRoute, model.KindGRPCRoute}

// readKinds reads which kinds of routes a listener wants, and leaves out those that it can't take.
func readKinds(allowed *gatewayv1.AllowedRoutes) (kinds []model.Kind, problems []problem) {
	if allowed == nil || len(allowed.Kinds) == 0 {
		return httpKinds, nil
	}
	for i, k := range allowed.Kinds {
		group := gatewayv1.GroupName
		if k.Group != nil {
			group = string(*k.Group)
		}
		switch kind := model.KindOf(group, string(k.Kind)); {
		case !slices.Contains(httpKinds, kind):
			problems = append(problems, unresolved(fmt.Sprintf("[%d]", i), unusable{"InvalidRouteKinds", fmt.Sprintf(
				"routes of kind %s (group %q) are not supported here; use HTTPRoute or GRPCRoute", k.Kind, group)}))
		case !slices.Contains(kinds, kind):
			kinds = append(kinds, kind)
		}
	}
	return kinds, problems
}
