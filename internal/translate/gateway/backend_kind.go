package gateway

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// backendKind is a kind of object that requests can be sent to. All that is special of a kind is behind it: routes,
// endpoints, clusters and status don't know which kinds there are.
type backendKind interface {
	// refer reads a reference to an object of the kind.
	refer(c *flow.Ctx, ref model.ObjectRef, port *gatewayv1.PortNumber) referred
	// backend is where requests to it go, and how it is spoken to; not served: it can't be.
	backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool)
	// sliceLabel is the label by which EndpointSlices name the object that their endpoints belong to.
	sliceLabel() string
	// selections are the objects that select pods, which Cardea has to find; nil: somebody else finds the pods of all
	// objects of the kind.
	selections(named *namedBackends) flow.Input[model.ObjectRef, plan.Selection]
	// reports tells whether the objects say in their status on which Gateways they serve.
	reports() bool
}

// referred is what a reference to a backend means.
type referred struct {
	Key      model.BackendKey // as far as it can be named
	Unusable unusable
	Session  *model.Session // its own
	// Affinity is how it keeps clients at an endpoint by itself, whatever a rule says; "": not at all.
	Affinity string
	// HTTP1 is how it says that it speaks HTTP/1.1 only, such as "protocol HTTP11"; "": it does not.
	HTTP1 string
	// External: it is a hostname.
	External bool
	// Pool is how its endpoints are chosen; nil: as every backend's.
	Pool *model.Pool
	// MCP: it is a server of tools for agents; Path is where it takes messages, "": wherever a request goes.
	MCP  bool
	Path string
}

// backendKinds are all of them.
type backendKinds map[model.Kind]backendKind

// sorted are the kinds in the order of model.Kind.
func (all backendKinds) sorted() []model.Kind {
	return slices.SortedFunc(maps.Keys(all), model.Kind.Compare)
}

// names are the names of the kinds, to choose from.
func (all backendKinds) names() string {
	var names []string
	for _, k := range all.sorted() {
		name := k.String()
		if k.Group() != "" {
			name += fmt.Sprintf(" (group %s)", k.Group())
		}
		names = append(names, name)
	}
	return choice(names)
}

// selections are the objects of all kinds that select pods, which Cardea has to find.
func (all backendKinds) selections(named *namedBackends) *flow.Collection[model.ObjectRef, plan.Selection] {
	var list []flow.Input[model.ObjectRef, plan.Selection]
	for _, k := range all.sorted() {
		if in := all[k].selections(named); in != nil {
			list = append(list, in)
		}
	}
	return flow.Merge("plan/selection", list[0], list[1:]...)
}

// ofRoutes is a backend that routes send requests to.
func (m *Meaning) ofRoutes(
	c *flow.Ctx, key plan.BackendKey, users flow.Members[model.ObjectRef, model.Route],
) (model.Backend, bool) {
	_, user := users.At(0)
	return m.backend(c, key, user.DataPlane(key.Gateway))
}

// backend is a backend as a Gateway's proxies have it.
func (m *Meaning) backend(c *flow.Ctx, key plan.BackendKey, d model.DataPlane) (model.Backend, bool) {
	kind, known := m.backends[key.Backend.Object.Kind()]
	if !known {
		return model.Backend{}, false
	}
	b, served := kind.backend(c, key.Backend)
	b.Key, b.DataPlane = key.Backend, d
	if b.Key.HTTP2 { // whatever the object says
		b.Protocol = model.HTTP2
	}
	if b.TLS != nil && b.TLS.Policy != (model.ObjectRef{}) {
		if own, stated := flow.Fetch(c, m.clients, key.Gateway); stated {
			b.TLS = own.shown(key.Gateway, b.TLS)
		}
	}
	if b.TLS != nil && b.TLS.Closed != "" {
		b.Hostname, b.HostPort, b.WholeName, b.Endpoints = "", 0, false, nil
	}
	return b, served
}

// backendReference is a reference to a backend, and what it leads to in the words of kinds.
type backendReference struct {
	group, kind string
	ref         model.ObjectRef
	port        *gatewayv1.PortNumber
}

// readBackendReference fills in the defaults of a reference.
func readBackendReference(from model.ObjectRef, b gatewayv1.BackendObjectReference) backendReference {
	r := backendReference{kind: "Service", port: b.Port}
	namespace := from.Namespace()
	if b.Group != nil {
		r.group = string(*b.Group)
	}
	if b.Kind != nil {
		r.kind = string(*b.Kind)
	}
	if b.Namespace != nil {
		namespace = string(*b.Namespace)
	}
	r.ref = model.Ref(model.KindOf(r.group, r.kind), namespace, string(b.Name))
	return r
}

// backend resolves a reference of a route to a backend.
func (s ruleScope) backend(b gatewayv1.BackendObjectReference) referred {
	return s.refs.backends.resolve(s.c, s.refs.grants, s.route, b, s.route.Kind() == model.KindGRPCRoute)
}

// resolve resolves a reference to a backend; grpc: calls of gRPC are sent to it.
func (all backendKinds) resolve(
	c *flow.Ctx, grants *grants, from model.ObjectRef, b gatewayv1.BackendObjectReference, grpc bool,
) (read referred) {
	r := readBackendReference(from, b)
	kind, known := all[r.ref.Kind()]
	switch {
	case !known:
		read.Unusable = unusable{"InvalidKind",
			fmt.Sprintf("a backend of kind %s (group %q) is not supported; use %s", r.kind, r.group, all.names())}
	case !grants.permit(c, from, r.ref):
		read.Unusable = unusable{"RefNotPermitted", grants.refusal(c, from, r.ref)}
	default:
		read = kind.refer(c, r.ref, r.port)
	}
	read.Key.Object, read.Key.HTTP2 = r.ref, grpc
	if read.Key.HTTP2 {
		read.callable()
	}
	return read
}

// server resolves a reference to one that is sent copies of requests, or is asked about them.
func (s ruleScope) server(b gatewayv1.BackendObjectReference) referred { return s.backend(b).direct() }

// direct refuses a pool where nobody would ask its picker.
func (r referred) direct() referred {
	if r.Unusable.none() && r.Pool != nil {
		r.Unusable = unusable{"InvalidKind", fmt.Sprintf("%s takes the requests of a rule's backendRefs and no others; "+
			"name a Service", r.Key.Object)}
	}
	return r
}

// callable refuses a backend that says that it does not speak HTTP/2: no gRPC call can be sent to it.
func (r *referred) callable() {
	if r.Unusable.none() && r.HTTP1 != "" {
		r.Unusable = unusable{"UnsupportedProtocol", fmt.Sprintf("%s has %s, which no gRPC call can be sent to", r.Key.Object,
			r.HTTP1)}
	}
}

// reporting are the objects that a rule names as backends and that have a status here, whether they can be served or
// not.
func (s ruleScope) reporting(spec gatewayv1.HTTPRouteRule) (list []model.ObjectRef) {
	for b := range backendsNamed(spec) {
		ref := readBackendReference(s.route, b).ref
		kind, known := s.refs.backends[ref.Kind()]
		if known && kind.reports() && s.refs.grants.permit(s.c, s.route, ref) {
			list = append(list, ref)
			if other, reports := s.standsIn(ref); reports {
				list = append(list, other)
			}
		}
	}
	return list
}

// backendsNamed goes over all references to backends of a rule.
func backendsNamed(spec gatewayv1.HTTPRouteRule) iter.Seq[gatewayv1.BackendObjectReference] {
	return func(yield func(gatewayv1.BackendObjectReference) bool) {
		if !yieldFilters(spec.Filters, yield) {
			return
		}
		for _, b := range spec.BackendRefs {
			if !yield(b.BackendObjectReference) || !yieldFilters(b.Filters, yield) {
				return
			}
		}
	}
}

func yieldFilters(list []gatewayv1.HTTPRouteFilter, yield func(gatewayv1.BackendObjectReference) bool) bool {
	for _, f := range list {
		if f.RequestMirror != nil && !yield(f.RequestMirror.BackendRef) ||
			f.ExternalAuth != nil && !yield(f.ExternalAuth.BackendRef) {
			return false
		}
	}
	return true
}

type slicesByBackend = flow.Collection[model.ObjectRef,
	flow.Members[model.ObjectRef, input.Object[input.EndpointSliceSpec]]]

// slicesBack names the backends that a slice's endpoints belong to, as slicesOf does.
func (all backendKinds) slicesBack(ref model.ObjectRef, slice input.Object[input.EndpointSliceSpec]) []model.ObjectRef {
	var list []model.ObjectRef
	for _, k := range all.sorted() {
		if name := slice.Meta.Labels.Get(all[k].sliceLabel()); name != "" {
			list = append(list, model.Ref(k, ref.Namespace(), name))
		}
	}
	return list
}

// slicesOf are the EndpointSlices of a backend. They are grouped by its name as a label can hold it.
func slicesOf(c *flow.Ctx, slices *slicesByBackend, backend model.ObjectRef) iter.Seq[*input.EndpointSliceSpec] {
	members, _ := flow.Fetch(c, slices,
		model.Ref(backend.Kind(), backend.Namespace(), model.LabelValue(backend.Name())))
	return specs(members)
}

// SlicesOf tells whether any EndpointSlice is a backend's, with endpoints or without, and the label that makes it so.
func (m *Meaning) SlicesOf(v flow.View, backend model.ObjectRef) (label, value string, any bool) {
	value = model.LabelValue(backend.Name())
	_, any = flow.Get(v, m.slices, model.Ref(backend.Kind(), backend.Namespace(), value))
	return m.backends[backend.Kind()].sliceLabel(), value, any
}

func specs(
	members flow.Members[model.ObjectRef, input.Object[input.EndpointSliceSpec]],
) iter.Seq[*input.EndpointSliceSpec] {
	return func(yield func(*input.EndpointSliceSpec) bool) {
		for _, o := range members.All() {
			if !yield(o.Spec) {
				return
			}
		}
	}
}

// naming is which backends that report a route names, and where it serves.
type naming struct {
	Backends, Gateways []model.ObjectRef
	// Denied are Gateways that it names and that did not accept it; of routes that name pools.
	Denied []model.ObjectRef
}

// namedBackends are the routes by the backends that they name.
type namedBackends = flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, naming]]

// served tells whether a route that names a backend serves somewhere.
func served(c *flow.Ctx, named *namedBackends, backend model.ObjectRef) bool {
	routes, _ := flow.Fetch(c, named, backend)
	for _, route := range routes.All() {
		if len(route.Gateways) > 0 {
			return true
		}
	}
	return false
}

// newNamedBackends leaves of routes what backends, and policies that target them, have to know: it hardly ever changes.
func (m *Meaning) newNamedBackends() *namedBackends {
	named := flow.Map(m.Plan.Routes, "backends named", func(c *flow.Ctx, ref model.ObjectRef, r model.Route) (
		naming, bool,
	) {
		n := naming{Backends: r.Backends}
		for object := range servicesOf(r) {
			if _, targeted := flow.Fetch(c, m.tlsPolicies.sections, object); targeted && !slices.Contains(n.Backends, object) {
				n.Backends = append(n.Backends[:len(n.Backends):len(n.Backends)], object)
			}
		}
		for _, p := range r.Places {
			if !slices.Contains(n.Gateways, p.Gateway) {
				n.Gateways = append(n.Gateways, p.Gateway)
			}
		}
		if slices.ContainsFunc(n.Backends, func(b model.ObjectRef) bool { return b.Kind() == model.KindInferencePool }) {
			n.Denied = m.denied(c, ref)
		}
		return n, len(n.Backends) > 0 && len(n.Gateways)+len(n.Denied) > 0
	})
	return flow.Group(named, "routes by backend named",
		func(_ model.ObjectRef, n naming) []model.ObjectRef { return n.Backends }, flow.ByKey)
}

// denied are the Gateways that a route names and that did not accept it.
func (m *Meaning) denied(c *flow.Ctx, route model.ObjectRef) (list []model.ObjectRef) {
	a, _ := flow.Fetch(c, m.attachments, route)
	attached := a.gateways()
	for _, p := range a.Parents {
		if !slices.Contains(attached, p.Gateway) && !slices.Contains(list, p.Gateway.Ref) {
			list = append(list, p.Gateway.Ref)
		}
	}
	return list
}

// servicesOf goes over the Services that a route names, some of them twice, whether they are there or not.
func servicesOf(r model.Route) iter.Seq[model.ObjectRef] {
	return func(yield func(model.ObjectRef) bool) {
		for _, rule := range r.Rules {
			uses := rule.Uses()
			for _, b := range rule.Backends {
				for _, pool := range []*model.Pool{b.Pool, b.Standby.OfPool()} {
					if pool.Picked() {
						uses = append(uses, pool.Picker)
					}
				}
				uses = append(uses, b.Backend)
			}
			for _, key := range uses {
				if key.Object.Kind() == model.KindService && !yield(key.Object) {
					return
				}
			}
		}
	}
}

// backendsOf lists the backends that a route needs, on each Gateway where it serves.
func backendsOf(_ model.ObjectRef, r model.Route) []plan.BackendKey {
	var list []plan.BackendKey
	for _, place := range r.Places {
		for _, rule := range r.Rules {
			for _, key := range rule.Uses() {
				list = append(list, plan.BackendKey{Gateway: place.Gateway, Backend: key})
			}
		}
	}
	return list
}
