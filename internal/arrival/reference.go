package arrival

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// Reference is one object naming another, or a part of it.
type Reference struct {
	To model.ObjectRef
	Part
}

// Part is what can be named of an object: a port of a Service, a listener of a Gateway. In a Reference, zero fields
// mean any.
type Part struct {
	Port    int32
	Section string
}

// Finds says whether one of an object's parts is the one that is named.
func (r Reference) Finds(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool {
		return (r.Port == 0 || p.Port == r.Port) && (r.Section == "" || p.Section == r.Section)
	})
}

// Parts lists the parts of an object, by its spec; divided is false if objects of its kind have none, and are named as
// a whole.
func Parts(spec any) (parts []Part, divided bool) {
	switch spec := spec.(type) {
	case *corev1.ServiceSpec:
		for _, p := range spec.Ports {
			parts = append(parts, Part{Port: p.Port})
		}
		return parts, true
	case *gatewayv1.GatewaySpec:
		for _, l := range spec.Listeners {
			parts = append(parts, Part{Port: l.Port, Section: string(l.Name)})
		}
		return parts, true
	}
	return nil, false
}

// References lists what an object names, by its spec, where something of that kind can do what it is named for. Whoever
// writes an object chooses what it names: nothing else is to be read for that.
func References(from model.ObjectRef, spec any) []Reference {
	l := list{namespace: from.Namespace()}
	switch spec := spec.(type) {
	case *gatewayv1.GRPCRouteSpec:
		return References(from, input.AsHTTPRoute(spec))
	case *gatewayv1.HTTPRouteSpec:
		for _, p := range spec.ParentRefs {
			l.add(p.Group, p.Kind, p.Namespace, p.Name, Part{Port: stated(p.Port), Section: string(stated(p.SectionName))},
				model.KindGateway)
		}
		for _, rule := range spec.Rules {
			for _, b := range rule.BackendRefs {
				l.backend(b.BackendObjectReference)
				l.filters(b.Filters)
			}
			l.filters(rule.Filters)
		}
	case *xgatewayv1alpha1.BackendSpec:
		if spec.TLS != nil {
			l.tls(*spec.TLS)
		}
	case *gatewayv1.GatewaySpec:
		l.found = append(l.found, Reference{To: model.Ref(model.KindGatewayClass, "", string(spec.GatewayClassName))})
		if i := spec.Infrastructure; i != nil && i.ParametersRef != nil {
			l.add(&i.ParametersRef.Group, &i.ParametersRef.Kind, nil, gatewayv1.ObjectName(i.ParametersRef.Name), Part{},
				model.KindDataPlane)
		}
		for _, listener := range spec.Listeners {
			if listener.TLS == nil {
				continue
			}
			for _, c := range listener.TLS.CertificateRefs {
				l.add(c.Group, c.Kind, c.Namespace, c.Name, Part{}, model.KindSecret)
			}
		}
	}
	return l.found
}

// list collects the references of an object in a namespace.
type list struct {
	namespace string
	found     []Reference
}

func (l *list) add(
	group *gatewayv1.Group, kind *gatewayv1.Kind, namespace *gatewayv1.Namespace, name gatewayv1.ObjectName, part Part,
	kinds ...model.Kind,
) {
	if k := model.KindOf(string(stated(group)), string(stated(kind))); slices.Contains(kinds, k) {
		l.found = append(l.found, Reference{model.Ref(k, cmp.Or(string(stated(namespace)), l.namespace), string(name)), part})
	}
}

func (l *list) tls(spec xgatewayv1alpha1.BackendTLS) {
	if c := spec.ClientCertificateRef; c != nil {
		l.add(c.Group, c.Kind, c.Namespace, c.Name, Part{}, model.KindSecret)
	}
	if spec.Validation == nil {
		return
	}
	for _, ca := range spec.Validation.CACertificateRefs {
		l.add(&ca.Group, &ca.Kind, nil, ca.Name, Part{}, model.KindConfigMap)
	}
}

func (l *list) backend(b gatewayv1.BackendObjectReference) {
	l.add(b.Group, b.Kind, b.Namespace, b.Name, Part{Port: stated(b.Port)}, model.KindService, model.KindXBackend)
}

func (l *list) filters(filters []gatewayv1.HTTPRouteFilter) {
	for _, f := range filters {
		if f.RequestMirror != nil {
			l.backend(f.RequestMirror.BackendRef)
		}
		if f.ExternalAuth != nil {
			l.backend(f.ExternalAuth.BackendRef)
		}
	}
}

// stated is what a pointer points to, or the zero value.
func stated[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
