package files

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/model"
)

// reference is one object naming another, or a part of it.
type reference struct {
	to      model.ObjectRef
	port    int32  // of a Service or a Gateway; 0 is any
	section string // of a Gateway; "" is any
}

// waits says whether an object's new version must wait, with the live one serving meanwhile: it names what is not there, and the
// live one did not. Most likely that is being written, too. It waits for Hold at most.
func (m *merge) waits(o *object) bool {
	current := m.subjects[o.Ref].live
	if current == nil || current == o || !m.loses(current, o) {
		return false
	}
	until, waited := m.held[o.Ref]
	if !waited {
		m.held[o.Ref] = m.now.Add(Hold)
		return true
	}
	return !m.expire || m.now.Before(until)
}

// loses says whether an object begins to name something that is not there.
func (m *merge) loses(from, to *object) bool {
	var known []reference
	for i, r := range references(to) {
		if i == 0 {
			known = references(from)
		}
		if !slices.Contains(known, r) && !m.has(r) {
			return true
		}
	}
	return false
}

// has says whether a reference finds something: an object that was published, with that part. Whether it may be named is not asked.
func (m *merge) has(r reference) bool {
	o := m.subjects[r.to].live
	if o == nil {
		return false
	}
	switch spec := o.Spec.(type) {
	case corev1.ServiceSpec:
		// A Service and its slices are often two files, and without slices it can't serve.
		return m.sliced(r.to) && slices.ContainsFunc(spec.Ports, func(p corev1.ServicePort) bool { return r.port == 0 || p.Port == r.port })
	case gatewayv1.GatewaySpec:
		return slices.ContainsFunc(spec.Listeners, func(l gatewayv1.Listener) bool {
			return (r.port == 0 || l.Port == r.port) && (r.section == "" || string(l.Name) == r.section)
		})
	}
	return true
}

// sliced says whether a Service has an EndpointSlice.
func (m *merge) sliced(service model.ObjectRef) bool {
	if m.withSlices == nil {
		m.withSlices = map[model.ObjectRef]bool{}
		for ref, s := range m.subjects {
			if ref.Kind == model.KindEndpointSlice && s.live != nil {
				m.withSlices[model.Ref(model.KindService, ref.Namespace, s.live.Labels[discoveryv1.LabelServiceName])] = true
			}
		}
	}
	return m.withSlices[service]
}

// references lists what an object names, in kinds that are read here.
func references(o *object) []reference {
	var list []reference
	add := func(group *gatewayv1.Group, kind *gatewayv1.Kind, namespace *gatewayv1.Namespace, name gatewayv1.ObjectName, r reference) {
		space := cmp.Or(string(stated(namespace)), o.Ref.Namespace)
		r.to = model.Ref(model.KindOf(string(stated(group)), string(stated(kind))), space, string(name))
		if r.to.Kind != model.KindNone {
			list = append(list, r)
		}
	}
	backend := func(b gatewayv1.BackendObjectReference) {
		add(b.Group, b.Kind, b.Namespace, b.Name, reference{port: stated(b.Port)})
	}
	switch spec := o.Spec.(type) {
	case gatewayv1.HTTPRouteSpec:
		for _, p := range spec.ParentRefs {
			add(p.Group, p.Kind, p.Namespace, p.Name, reference{port: stated(p.Port), section: string(stated(p.SectionName))})
		}
		for _, rule := range spec.Rules {
			for _, b := range rule.BackendRefs {
				backend(b.BackendObjectReference)
			}
			for _, f := range rule.Filters {
				if f.RequestMirror != nil {
					backend(f.RequestMirror.BackendRef)
				}
			}
		}
	case gatewayv1.GatewaySpec:
		list = append(list, reference{to: model.Ref(model.KindGatewayClass, "", string(spec.GatewayClassName))})
		for _, l := range spec.Listeners {
			if l.TLS == nil {
				continue
			}
			for _, c := range l.TLS.CertificateRefs {
				add(c.Group, c.Kind, c.Namespace, c.Name, reference{})
			}
		}
	}
	return list
}

// stated is what a pointer points to, or the zero value.
func stated[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// byNaming orders what names others after what is named, so that both can come in one look.
func byNaming(a, b model.ObjectRef) int {
	rank := func(k model.Kind) int {
		switch k {
		case model.KindHTTPRoute:
			return 2
		case model.KindGateway:
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a.Kind)-rank(b.Kind), a.Compare(b))
}
