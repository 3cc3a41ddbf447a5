package backend

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
)

// Kind is what the objects of a kind of backends mean. What the kind is, its declaration says (kind.Backend).
// Routes, endpoints, clusters and status don't know which kinds there are.
type Kind interface {
	// Refer reads a reference to an object of the kind; port is that of the reference, nil if it states none.
	Refer(c *flow.Ctx, ref model.ObjectRef, port *gatewayv1.PortNumber, carries model.Carried) Referred
	// Backend is where requests to it go, and how it is spoken to; not served: it can't be.
	Backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool)
}

// PodSelecting is a Kind with objects that select pods, which Cardea has to find (kind.Backend.Finder).
type PodSelecting interface {
	// Selections are those that a route names where it serves, as served tells.
	Selections(served func(*flow.Ctx, model.ObjectRef) bool) flow.Input[model.ObjectRef, plan.PodSelector]
}

// Reporting is a Kind with objects that say in their status on which Gateways they serve.
type Reporting interface {
	Reports(uses Uses) plan.Reporter
}

// Inputs is what the meaning of a kind of backends may look up besides the objects of the kind.
type Inputs struct {
	Sources *kinds.Sources
	slices  *slicesByBackend
}

// EndpointsAt are the endpoints that EndpointSlices have for an object, at ports that the object states.
func (in Inputs) EndpointsAt(c *flow.Ctx, ref model.ObjectRef, ports ...int32) []model.Endpoint {
	return resolve.EndpointsAt(ports, slicesOf(c, in.slices, ref))
}

// Referred is what a reference to a backend means.
type Referred struct {
	Key      model.BackendKey // as far as it can be named
	Unusable problem.Unusable
	NoHTTP   problem.Unusable // why no request of HTTP can be sent to it, though connections can
	Session  *model.Session   // its own
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

	// instead: what can be named where a backend of rules for requests (kind.Backend.RulesOnly) can't be; "": it can be
	// named everywhere.
	instead string
}

// declaredKind is a kind of backends.
type declaredKind struct {
	declared *kind.Kind
	meaning  Kind
}

// listKinds are the kinds in the order of model.Kind.
func (all *Backends) listKinds() []model.Kind {
	return slices.SortedFunc(maps.Keys(all.kinds), model.Kind.Compare)
}

// kindNames are the names of kinds, to choose from: of all, or of those that not only rules for requests can name.
func (all *Backends) kindNames(direct bool) string {
	var names []string
	for _, k := range all.listKinds() {
		if direct && all.kinds[k].declared.Backend.RulesOnly {
			continue
		}
		name := k.String()
		if k.Group() != "" {
			name += fmt.Sprintf(" (group %s)", k.Group())
		}
		names = append(names, name)
	}
	return model.JoinChoices(names)
}

// objectReference is a reference to a backend, and what it leads to in the words of kinds.
type objectReference struct {
	group, kind string
	ref         model.ObjectRef
	port        *gatewayv1.PortNumber
}

// readReference fills in the defaults of a reference.
func readReference(from model.ObjectRef, b gatewayv1.BackendObjectReference) objectReference {
	r := objectReference{kind: "Service", port: b.Port}
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

// ResolveBackend resolves a reference to a backend that requests are sent to; grpc: they are calls of gRPC.
func (all *Backends) ResolveBackend(
	c *flow.Ctx, from model.ObjectRef, b gatewayv1.BackendObjectReference, grpc bool,
) Referred {
	read := all.Refer(c, from, b, "")
	if read.Unusable.IsZero() {
		read.Unusable = read.NoHTTP
	}
	if read.Key.HTTP2 = grpc; grpc {
		read.Callable()
	}
	return read
}

// Refer resolves a reference to a backend, for what is sent to it.
func (all *Backends) Refer(
	c *flow.Ctx, from model.ObjectRef, b gatewayv1.BackendObjectReference, carries model.Carried,
) (read Referred) {
	r := readReference(from, b)
	kind, known := all.kinds[r.ref.Kind()]
	switch {
	case !known:
		read.Unusable = problem.Unusable{Reason: "InvalidKind",
			Message: fmt.Sprintf("a backend of kind %s (group %q) is not supported; use %s", r.kind, r.group,
				all.kindNames(false))}
	case !all.grants.IsPermitted(c, from, r.ref):
		read.Unusable = problem.Unusable{Reason: "RefNotPermitted", Message: all.grants.DescribeRefusal(c, from, r.ref)}
	default:
		read = kind.meaning.Refer(c, r.ref, r.port, carries)
		if kind.declared.Backend.RulesOnly {
			read.instead = all.kindNames(true)
		}
	}
	read.Key.Object, read.Key.Carries = r.ref, carries
	return read
}

// Direct refuses a backend that takes the requests of rules only.
func (r Referred) Direct() Referred {
	return r.refuseKind("%s can be a backend only in a rule's backendRefs; use %s")
}

// ForConnections refuses a backend that takes requests only.
func (r Referred) ForConnections() Referred {
	return r.refuseKind("connections can't be sent to %s, only requests; use %s")
}

// refuseKind refuses a backend of a kind that only rules for requests can name. why has verbs for the object and for
// what can be named instead.
func (r Referred) refuseKind(why string) Referred {
	if r.Unusable.IsZero() && r.instead != "" {
		r.Unusable = problem.Unusable{Reason: "InvalidKind", Message: fmt.Sprintf(why, r.Key.Object, r.instead)}
	}
	return r
}

// Callable refuses a backend that says that it does not speak HTTP/2: no gRPC call can be sent to it.
func (r *Referred) Callable() {
	if r.Unusable.IsZero() && r.HTTP1 != "" {
		r.Unusable = problem.Unusable{Reason: "UnsupportedProtocol",
			Message: fmt.Sprintf("%s has %s, so gRPC calls can't be sent to it", r.Key.Object,
				r.HTTP1)}
	}
}

// Follow lists the objects that a reference leads to and that have a status here, whether they can be served or not.
func (all *Backends) Follow(
	c *flow.Ctx, from model.ObjectRef, b gatewayv1.BackendObjectReference,
) (list []model.ObjectRef) {
	ref := readReference(from, b).ref
	if !all.isFollowed(c, from, ref) {
		return nil
	}
	list = append(list, ref)
	if f, stated := flow.Fetch(c, all.failovers, ref); stated {
		if other := readReference(f.By, f.To).ref; all.isFollowed(c, f.By, other) {
			list = append(list, other)
		}
	}
	return list
}

// isFollowed tells whether a backend has a status here that tells of the one who refers to it.
func (all *Backends) isFollowed(c *flow.Ctx, from, ref model.ObjectRef) bool {
	kind, known := all.kinds[ref.Kind()]
	return known && kind.declared.IsFollowed() && all.grants.IsPermitted(c, from, ref)
}

type slicesByBackend = flow.Collection[model.ObjectRef,
	flow.Members[model.ObjectRef, input.Object[input.EndpointSliceSpec]]]

// backendsOfSlice names the backends that a slice's endpoints belong to, as slicesOf does.
func (all *Backends) backendsOfSlice(
	ref model.ObjectRef, slice input.Object[input.EndpointSliceSpec],
) []model.ObjectRef {
	var list []model.ObjectRef
	for _, k := range all.listKinds() {
		if name := slice.Meta.Labels.Get(all.kinds[k].declared.Backend.SliceLabel); name != "" {
			list = append(list, model.Ref(k, ref.Namespace(), name))
		}
	}
	return list
}

// slicesOf are the EndpointSlices of a backend. They are grouped by its name as a label can hold it.
func slicesOf(c *flow.Ctx, slices *slicesByBackend, backend model.ObjectRef) iter.Seq[*input.EndpointSliceSpec] {
	members, _ := flow.Fetch(c, slices,
		model.Ref(backend.Kind(), backend.Namespace(), model.LabelValue(backend.Name())))
	return sliceSpecs(members)
}

// SlicesOf tells whether any EndpointSlice is a backend's, with endpoints or without, and the label that makes it so.
func (all *Backends) SlicesOf(v flow.View, backend model.ObjectRef) (label, value string, any bool) {
	value = model.LabelValue(backend.Name())
	_, any = flow.Get(v, all.endpointSlices, model.Ref(backend.Kind(), backend.Namespace(), value))
	return all.kinds[backend.Kind()].declared.Backend.SliceLabel, value, any
}

func sliceSpecs(
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
