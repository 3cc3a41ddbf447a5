package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/conditions"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resolve"
)

// class is a GatewayClass of this controller.
type class struct {
	conditions.Class
	UID        string
	Parameters parameters // zero: none
	Deleting   bool
}

type classObject = input.Object[gatewayv1.GatewayClassSpec]

func classOf(
	planes dataPlanes, environments *environments,
) func(*flow.Ctx, model.ObjectRef, classObject) (class, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o classObject) (class, bool) {
		if o.Spec.ControllerName != model.ControllerName {
			return class{}, false
		}
		environment, _ := flow.Fetch(c, environments, model.ObjectRef{})
		own := class{
			Class:    conditions.Class{Generation: o.Meta.Generation, InCluster: environment.Fronted, APIs: environment.APIs},
			UID:      o.Meta.UID,
			Deleting: o.Meta.Deleting,
		}
		if p := o.Spec.ParametersRef; p != nil {
			var namespace string
			if p.Namespace != nil {
				namespace = string(*p.Namespace)
			}
			var problem string
			if own.Parameters, problem = planes.find(c, p.Group, p.Kind, namespace, p.Name); problem != "" {
				own.Findings = append(own.Findings, model.Finding{
					Object: ref, Condition: "Accepted", Reason: "InvalidParameters", Field: "spec.parametersRef", Message: problem,
				})
			}
		}
		return own, true
	}
}

// dataPlanes is where DataPlanes are looked up.
type dataPlanes struct {
	all    *input.Collection[v1alpha1.DataPlaneSpec]
	broken *broken
	built  []model.DataPlane // see Options
}

// parameters are a DataPlane that exists.
type parameters struct {
	Ref   model.ObjectRef
	Proxy model.DataPlane // that it asks for; "": none
}

// find is the DataPlane that a parametersRef names; a problem says why there is none.
func (in dataPlanes) find(
	c *flow.Ctx, group gatewayv1.Group, kind gatewayv1.Kind, namespace, name string,
) (found parameters, problem string) {
	if k := model.KindOf(string(group), string(kind)); k != model.KindDataPlane {
		return found, fmt.Sprintf("parameters of kind %s (group %q) are not supported; use DataPlane of %s", kind, group,
			model.KindDataPlane.Group())
	}
	if namespace == "" {
		return found, "the namespace of the DataPlane is missing"
	}
	ref := model.Ref(model.KindDataPlane, namespace, name)
	o, ok := flow.Fetch(c, in.all, ref)
	if !ok {
		return found, absent(c, in.broken, ref)
	}
	return parameters{ref, model.DataPlane(o.Spec.Proxy)}, ""
}

// chosen is the data plane of a Gateway: the last one that its parameters ask for. A problem says which one the program
// does not have. Such a Gateway is not accepted, and proxies that serve it stay what they are.
func (in dataPlanes) chosen(list []parameters) (chosen model.DataPlane, problem string) {
	chosen = model.DataPlaneEnvoy
	for _, p := range list {
		switch {
		case p.Proxy == "":
		case slices.Contains(in.built, p.Proxy):
			chosen, problem = p.Proxy, ""
		default:
			problem = fmt.Sprintf("%s asks for proxy %s, which this program does not have; use %s", p.Ref, p.Proxy,
				choice(in.built))
		}
	}
	return chosen, problem
}

// choice lists words to choose from: "a, b or c".
func choice[S ~string](list []S) string {
	all := words(list)
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " or " + all[last]
	}
	return strings.Join(all, "")
}

// unclassed finds Gateways whose class nobody declared and that were never served: most likely a typing error, which no
// controller would tell about.
func unclassed(
	classes *input.Collection[gatewayv1.GatewayClassSpec], broken *broken,
) func(*flow.Ctx, model.ObjectRef, input.Object[gatewayv1.GatewaySpec]) ([]model.Finding, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.GatewaySpec]) ([]model.Finding, bool) {
		class := model.Ref(model.KindGatewayClass, "", string(o.Spec.GatewayClassName))
		if _, found := flow.Fetch(c, classes, class); found || o.Meta.Held {
			return nil, false
		}
		return []model.Finding{{
			Object: ref, Severity: model.Warning, Field: "spec.gatewayClassName",
			Message: absent(c, broken, class) + ", so nobody serves this Gateway",
		}}, true
	}
}

// gatewayView is a Gateway as routes see it.
type gatewayView struct {
	DataPlane model.DataPlane
	Listeners []listenerView
}

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

// gatewayFacts is what one Gateway says by itself, without the objects it refers to.
type gatewayFacts struct {
	Generation int64
	Listeners  []listenerView
	Spec       []listenerSpec // as Listeners
	Bind       []string       // IP addresses, sorted
	PortOffset int32
	Proxy      plan.Proxy   // but for its Parameters
	Parameters []parameters // the class's first
	Fronted    bool
	Findings   []model.Finding
}

// view is the Gateway as routes see it.
func (f gatewayFacts) view() gatewayView { return gatewayView{f.Proxy.DataPlane, f.Listeners} }

// accepted tells whether proxies are made for the Gateway: it has no finding that takes back its acceptance.
func (f gatewayFacts) accepted() bool { return !refused(f.Findings, "Accepted") }

// served tells whether its proxies, if there are any, serve it. A mistake in what they are to be, such as a DataPlane
// that was deleted, or in the address that their Service is to ask for, takes nothing from those that are deployed and
// stay as they are.
func (f gatewayFacts) served() bool {
	return f.accepted() || f.Fronted && !slices.ContainsFunc(f.Findings, func(g model.Finding) bool {
		return g.Condition == "Accepted" && g.Severity == model.Error && g.Reason != "InvalidParameters" &&
			g.Reason != string(gatewayv1.GatewayReasonUnsupportedAddress) && g.Field != classField
	})
}

// classField is where a Gateway says that its class is missing or not accepted.
const classField = "spec.gatewayClassName"

// listenerSpec is what one listener says by itself.
type listenerSpec struct {
	Protocol     model.Protocol
	Kinds        []model.Kind // that it can take, of those it wants
	Certificates []gatewayv1.SecretObjectReference
	Overlaps     bool // its hostname overlaps with that of another TLS listener of the port
	Findings     []model.Finding
}

type environments = flow.Collection[model.ObjectRef, model.Environment]

// gatewayOf reads a Gateway of a class of ours. One that was ours is so still while its class does not exist: a
// mistyped name, or a class that was deleted by mistake, takes nothing from proxies that serve.
func gatewayOf(
	classes *flow.Collection[model.ObjectRef, class], all *input.Collection[gatewayv1.GatewayClassSpec],
	planes dataPlanes, environments *environments,
) func(*flow.Ctx, model.ObjectRef, input.Object[gatewayv1.GatewaySpec]) (gatewayFacts, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.GatewaySpec]) (gatewayFacts, bool) {
		classRef := model.Ref(model.KindGatewayClass, "", string(o.Spec.GatewayClassName))
		class, ours := flow.Fetch(c, classes, classRef)
		if _, declared := flow.Fetch(c, all, classRef); !ours && (declared || !o.Meta.Held) {
			return gatewayFacts{}, false
		}
		environment, _ := flow.Fetch(c, environments, model.ObjectRef{})
		f := gatewayFacts{
			Generation: o.Meta.Generation, PortOffset: environment.PortOffset, Fronted: environment.Fronted,
			Proxy:    plan.Proxy{UID: o.Meta.UID, Name: ProxyName(ref), Held: o.Meta.Held, Leaving: o.Meta.Deleting},
			Findings: unsupportedGateway(ref, o.Spec),
		}
		f.readInfrastructure(c, ref, o.Spec.Infrastructure, class, planes)
		pending := func(why string) {
			f.Findings = append(f.Findings, model.Finding{
				Object: ref, Condition: "Accepted", Reason: "Pending", Field: classField,
				Message: fmt.Sprintf("%s %s", classRef, why),
			})
		}
		switch {
		case !ours:
			pending("does not exist; the Gateway is served as it was before")
		case refused(class.Findings, "Accepted"):
			pending("is not accepted; see its status")
		}
		f.readAddresses(ref, o.Spec.Addresses, environment)
		for i, l := range o.Spec.Listeners {
			view, spec := readListener(ref, i, l)
			if l.Protocol == gatewayv1.HTTPSProtocolType && o.Spec.TLS != nil && o.Spec.TLS.Frontend != nil {
				spec.Findings = append(spec.Findings, model.Finding{
					Object: ref, Section: string(l.Name), Condition: "Accepted", Reason: "UnsupportedValue",
					Field:   "spec.tls.frontend",
					Message: "validation of client certificates is not supported; the listener does not serve without it",
				})
			}
			if problem := unbindable(int32(l.Port), environment); problem != "" {
				spec.Findings = append(spec.Findings, model.Finding{
					Object: ref, Section: string(l.Name), Condition: "Accepted", Reason: "PortUnavailable",
					Field: fmt.Sprintf("spec.listeners[%d].port", i), Message: problem,
				})
			}
			f.Listeners = append(f.Listeners, view)
			f.Spec = append(f.Spec, spec)
		}
		findConflicts(ref, f.Listeners, f.Spec)
		findOverlaps(f.Listeners, f.Spec)
		for i := range f.Spec {
			f.Listeners[i].Valid = !refused(f.Spec[i].Findings, "Accepted") && !refused(f.Spec[i].Findings, "Conflicted")
		}
		return f, true
	}
}

// unbindable says why no proxy can bind a listener's port; "" if one can.
func unbindable(port int32, environment model.Environment) string {
	switch bind := port + environment.PortOffset; {
	case bind < 1 || bind > 65535:
		return fmt.Sprintf("with the port offset %d it is %d; ports are 1 to 65535", environment.PortOffset, bind)
	case bind == environment.ProbePort:
		return fmt.Sprintf("the proxies answer the kubelet's probes on port %d", bind)
	}
	return ""
}

// refused tells whether a finding is an error on the condition.
func refused(findings []model.Finding, condition string) bool {
	return slices.ContainsFunc(findings, func(f model.Finding) bool {
		return f.Condition == condition && f.Severity == model.Error
	})
}

func unsupportedGateway(ref model.ObjectRef, spec *gatewayv1.GatewaySpec) []model.Finding {
	var list []model.Finding
	warn := func(field, message string) {
		list = append(list, model.Finding{Object: ref, Severity: model.Warning, Field: field, Message: message})
	}
	if spec.TLS != nil && spec.TLS.Backend != nil {
		warn("spec.tls.backend", "client certificates towards backends are not supported; the field has no effect")
	}
	if a := spec.AllowedListeners; a != nil && a.Namespaces != nil && a.Namespaces.From != nil &&
		*a.Namespaces.From != gatewayv1.NamespacesFromNone {
		warn("spec.allowedListeners", "ListenerSets are not supported; the field has no effect")
	}
	if spec.DefaultScope != "" && spec.DefaultScope != gatewayv1.GatewayDefaultScopeNone {
		warn("spec.defaultScope", "default Gateways are not supported; routes must name this Gateway in parentRefs")
	}
	return list
}

// readInfrastructure reads what the Gateway and its class say about the proxies.
func (f *gatewayFacts) readInfrastructure(
	c *flow.Ctx, ref model.ObjectRef, i *gatewayv1.GatewayInfrastructure, class class, planes dataPlanes,
) {
	if class.Parameters != (parameters{}) {
		f.Parameters = append(f.Parameters, class.Parameters)
	}
	field, problem := classField, ""
	if i != nil {
		f.Proxy.Labels, f.Proxy.Annotations = plain(i.Labels), plain(i.Annotations)
		if p := i.ParametersRef; p != nil {
			var own parameters
			field = "spec.infrastructure.parametersRef"
			if own, problem = planes.find(c, p.Group, p.Kind, ref.Namespace(), p.Name); problem == "" {
				f.Parameters = append(f.Parameters, own)
			}
		}
	}
	chosen, missing := planes.chosen(f.Parameters)
	f.Proxy.DataPlane = chosen
	if problem = cmp.Or(problem, missing); problem != "" {
		f.Findings = append(f.Findings, model.Finding{
			Object: ref, Condition: "Accepted", Reason: "InvalidParameters", Field: field, Message: problem,
		})
	} else if i != nil && !f.Fronted && len(f.Parameters)+len(f.Proxy.Labels)+len(f.Proxy.Annotations) > 0 {
		f.Findings = append(f.Findings, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec.infrastructure",
			Message: "nothing is deployed here, so this and DataPlanes have no effect",
		})
	}
}

func plain[K, V ~string](words map[K]V) map[string]string {
	if words == nil {
		return nil
	}
	m := make(map[string]string, len(words))
	for k, v := range words {
		m[string(k)] = string(v)
	}
	return m
}

// readAddresses reads the addresses that the Gateway asks for: of its front or, where nothing stands before the
// proxies, those to bind.
func (f *gatewayFacts) readAddresses(
	ref model.ObjectRef, wanted []gatewayv1.GatewaySpecAddress, environment model.Environment,
) {
	refuse := func(field, message string) {
		f.Findings = append(f.Findings, model.Finding{
			Object: ref, Condition: "Accepted", Reason: "UnsupportedAddress", Field: field, Message: message,
		})
	}
	fields := map[netip.Addr]string{}
	for i, a := range wanted {
		field := fmt.Sprintf("spec.addresses[%d]", i)
		if a.Type != nil && *a.Type != gatewayv1.IPAddressType {
			refuse(field+".type", fmt.Sprintf("addresses of type %s are not supported; use IPAddress", *a.Type))
			continue
		}
		if a.Routability != gatewayv1.GatewayAddressRoutabilityDefault {
			refuse(field+".routability", fmt.Sprintf("routability %s is not supported; leave it out", a.Routability))
			continue
		}
		if a.Value == "" {
			continue
		}
		ip, err := netip.ParseAddr(a.Value)
		if err != nil {
			refuse(field+".value", fmt.Sprintf("%q is not an IP address", a.Value))
			continue
		}
		if other, clash := clashing(ip, fields); clash && !environment.Fronted {
			refuse(field+".value", fmt.Sprintf("%s can't be bound beside %s (%s); leave one of them out", a.Value, other,
				fields[other]))
		}
		fields[ip] = field
		f.Proxy.Addresses = append(f.Proxy.Addresses, model.Address{Value: ip.String()})
	}
	f.Bind = slices.Clone(environment.Addresses)
	if !environment.Fronted && len(f.Proxy.Addresses) > 0 {
		f.Bind = nil
		for _, a := range f.Proxy.Addresses {
			f.Bind = append(f.Bind, a.Value)
		}
	}
	slices.Sort(f.Bind)
	f.Bind = slices.Compact(f.Bind)
}

// clashing is one of the others that can't be bound on the port on which ip is: they are one, or one of them is every
// address of the family.
func clashing[V any](ip netip.Addr, others map[netip.Addr]V) (other netip.Addr, found bool) {
	for _, other := range slices.SortedFunc(maps.Keys(others), netip.Addr.Compare) {
		a, b := ip.Unmap(), other.Unmap()
		if ip != other && a.Is4() == b.Is4() && (a == b || a.IsUnspecified() || b.IsUnspecified()) {
			return other, true
		}
	}
	return netip.Addr{}, false
}

// readListener reads one listener by itself.
func readListener(ref model.ObjectRef, i int, l gatewayv1.Listener) (listenerView, listenerSpec) {
	view := listenerView{
		Key:  model.ListenerKey{Parent: ref, Section: string(l.Name)},
		Port: model.PortKey{Gateway: ref, Number: int32(l.Port), Transport: model.TCP},
		From: gatewayv1.NamespacesFromSame,
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
	r := listenerReader{ref: ref, section: string(l.Name), field: fmt.Sprintf("spec.listeners[%d]", i)}
	r.read(l)
	view.Kinds = r.spec.Kinds
	return view, r.spec
}

type listenerReader struct {
	ref            model.ObjectRef
	section, field string
	spec           listenerSpec
}

func (r *listenerReader) find(severity model.Severity, condition, reason, field, message string) {
	r.spec.Findings = append(r.spec.Findings, model.Finding{
		Object: r.ref, Section: r.section, Severity: severity, Condition: condition, Reason: reason, Field: r.field + field,
		Message: message,
	})
}

func (r *listenerReader) read(l gatewayv1.Listener) {
	switch l.Protocol {
	case gatewayv1.HTTPProtocolType:
		r.spec.Protocol = model.HTTP
	case gatewayv1.HTTPSProtocolType:
		r.spec.Protocol = model.HTTPS
		r.readTLS(l.TLS)
	default:
		if l.Protocol == gatewayv1.TLSProtocolType {
			r.spec.Protocol = model.TLS
		}
		r.find(model.Error, "Accepted", "UnsupportedProtocol", ".protocol",
			fmt.Sprintf("protocol %s is not supported; use HTTP or HTTPS", l.Protocol))
		return
	}
	if l.Filters != nil {
		r.find(model.Error, "Accepted", "UnsupportedValue", ".filters",
			"filters of a listener are not supported; the listener does not serve without them")
	}
	r.readKinds(l.AllowedRoutes)
}

func (r *listenerReader) readTLS(tls *gatewayv1.ListenerTLSConfig) {
	switch {
	case tls == nil:
		r.find(model.Error, "ResolvedRefs", "InvalidCertificateRef", ".tls",
			"an HTTPS listener needs tls.certificateRefs; it does not serve plain text")
		return
	case tls.Mode != nil && *tls.Mode != gatewayv1.TLSModeTerminate:
		r.find(model.Error, "Accepted", "UnsupportedValue", ".tls.mode",
			fmt.Sprintf("mode %s is not supported for HTTPS; use Terminate", *tls.Mode))
	case len(tls.CertificateRefs) == 0:
		r.find(model.Error, "ResolvedRefs", "InvalidCertificateRef", ".tls.certificateRefs",
			"an HTTPS listener needs a certificate")
	}
	if len(tls.Options) > 0 {
		r.find(model.Warning, "", "", ".tls.options", "no option is known here; they have no effect")
	}
	r.spec.Certificates = tls.CertificateRefs
}

// httpKinds are the kinds of routes that a listener for HTTP can take.
var httpKinds = []model.Kind{model.KindHTTPRoute, model.KindGRPCRoute}

func (r *listenerReader) readKinds(allowed *gatewayv1.AllowedRoutes) {
	if allowed == nil || len(allowed.Kinds) == 0 {
		r.spec.Kinds = httpKinds
		return
	}
	for i, k := range allowed.Kinds {
		group := gatewayv1.GroupName
		if k.Group != nil {
			group = string(*k.Group)
		}
		if kind := model.KindOf(group, string(k.Kind)); slices.Contains(httpKinds, kind) {
			if !slices.Contains(r.spec.Kinds, kind) {
				r.spec.Kinds = append(r.spec.Kinds, kind)
			}
			continue
		}
		r.find(model.Error, "ResolvedRefs", "InvalidRouteKinds", fmt.Sprintf(".allowedRoutes.kinds[%d]", i),
			fmt.Sprintf("routes of kind %s (group %q) are not supported here; use HTTPRoute or GRPCRoute", k.Kind, group))
	}
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
			case !compatible(specs[i].Protocol, specs[j].Protocol):
				f.Reason, f.Field = "ProtocolConflict", fmt.Sprintf("spec.listeners[%d].protocol", i)
				f.Message = fmt.Sprintf("port %d is %s here and %s in listener %s", views[i].Port.Number, specs[i].Protocol,
					specs[j].Protocol, other)
			case specs[i].Protocol != "" && specs[j].Protocol != "" && strings.EqualFold(views[i].Hostname, views[j].Hostname):
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

// compatible tells whether listeners of the two protocols may share a port. HTTPS and TLS are told apart by SNI; of a
// protocol that is not known here nothing is said.
func compatible(a, b model.Protocol) bool {
	return a == b || a == "" || b == "" || a != model.HTTP && b != model.HTTP
}

// findOverlaps marks HTTPS listeners of one port that a client can mix up: it may reuse a connection for a host whose
// SNI would have led to another listener (ListenerConditionOverlappingTLSConfig).
func findOverlaps(views []listenerView, specs []listenerSpec) {
	for i := range views {
		for j := range views {
			if i != j && views[i].Port == views[j].Port && specs[i].Protocol == model.HTTPS &&
				specs[j].Protocol == model.HTTPS &&
				len(resolve.Hostnames(views[i].Hostname, []string{model.HostnameDomain(views[j].Hostname)})) > 0 {
				specs[i].Overlaps = true
			}
		}
	}
}
