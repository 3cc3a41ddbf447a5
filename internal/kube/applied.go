package kube

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/arrival"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// Applied tells what would be read of objects if somebody applied them (kubectl apply) to the cluster as v shows it:
// what is kept of each, with what stays there though it is not stated. What nobody would read is left out. Who owns
// which field is not kept, so a spec is taken to be stated whole, but for what the API server assigns. Each object
// comes once, defaulted and valid; specs may be changed.
//
// unknown is what would be read because one of the objects begins to refer to it: it is neither stated nor known to be
// absent.
func (e *Edge) Applied(v flow.View, objects []input.Content) (read []input.Content, unknown []model.ObjectRef) {
	a := &applied{in: e.sources, view: v, stated: map[model.ObjectRef]input.Content{}}
	for _, o := range objects {
		labels, spec := kept(o.Labels.Map(), o.Spec)
		a.stated[o.Ref] = input.Content{Ref: o.Ref, Labels: model.LabelsOf(labels), Spec: spec}
	}
	for ref, o := range a.stated {
		a.stated[ref] = a.merge(o)
	}
	for _, o := range objects {
		if a.isRead(o.Ref) {
			read = append(read, a.stated[o.Ref])
		}
	}
	return read, a.unknown()
}

// unknown lists what objects begin to refer to.
func (a *applied) unknown() (list []model.ObjectRef) {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(a.stated)), namesDemanded) {
		return nil
	}
	before := (&applied{in: a.in, view: a.view}).wants()
	for ref := range a.wants() {
		_, stated := a.stated[ref]
		_, found := a.in.Of(ref.Kind()).Get(a.view, ref)
		if !before[ref] && !stated && !found {
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, model.ObjectRef.Compare)
	return list
}

// namesDemanded says whether an object may bring about that something is read that it, or another one, refers to.
func namesDemanded(ref model.ObjectRef) bool {
	switch ref.Kind() {
	case model.KindGateway, model.KindGatewayClass, model.KindXBackend, model.KindReferenceGrant:
		return true
	}
	return false
}

// applied is a cluster to which objects are applied.
type applied struct {
	in     *input.Sources
	view   flow.View
	stated map[model.ObjectRef]input.Content
	wanted map[model.ObjectRef]bool // nil: nobody has asked yet
}

// specOf is the spec that an object has then; nil if there is none.
func specOf[S any](a *applied, source *input.Source[S], ref model.ObjectRef) *S {
	if o, is := a.stated[ref]; is {
		return o.Spec.(*S)
	}
	o, _ := flow.Get(a.view, source.Collection(), ref)
	return o.Spec
}

// each goes through the objects of a kind that there are then.
func each[S any](a *applied, kind model.Kind, source *input.Source[S], do func(model.ObjectRef, *S)) {
	for ref, o := range flow.All(a.view, source.Collection()) {
		if _, again := a.stated[ref]; !again {
			do(ref, o.Spec)
		}
	}
	for ref, o := range a.stated {
		if ref.Kind() == kind {
			do(ref, o.Spec.(*S))
		}
	}
}

// merge adds what stays of the object that is there, and takes from it what is another controller's.
func (a *applied) merge(o input.Content) input.Content {
	was, found := a.in.Of(o.Ref.Kind()).Get(a.view, o.Ref)
	switch spec := o.Spec.(type) {
	case *gatewayv1.GatewaySpec:
		if a.foreignClass(spec) {
			o.Spec = classOnly(spec)
		}
	case *gatewayv1.HTTPRouteSpec, *gatewayv1.GRPCRouteSpec:
		if a.foreignRoute(o.Ref, spec) {
			o.Spec = parentsOnly(spec)
		}
	case *corev1.ServiceSpec:
		if found && spec.ClusterIP == "" && spec.Type != corev1.ServiceTypeExternalName {
			spec.ClusterIP = was.Spec.(*corev1.ServiceSpec).ClusterIP // the API server's: it stays
		}
	case *input.NamespaceSpec:
		o.Labels = over(was.Labels, model.Labels{{Key: corev1.LabelMetadataName, Value: o.Ref.Name()}}, o.Labels)
	case *input.EndpointSliceSpec:
		o.Labels = over(was.Labels, o.Labels)
	}
	return o
}

// over are labels of which later ones win.
func over(lists ...model.Labels) model.Labels {
	all := map[string]string{}
	for _, l := range lists {
		maps.Copy(all, l.Map())
	}
	return model.LabelsOf(all)
}

// isRead says whether an object that is stated would be in the graph.
func (a *applied) isRead(ref model.ObjectRef) bool {
	if _, found := a.in.Of(ref.Kind()).Get(a.view, ref); found {
		return true
	}
	if isRoute(ref.Kind()) {
		return !a.foreignRoute(ref, a.stated[ref].Spec)
	}
	if !resources[ref.Kind()].demanded {
		return true
	}
	if _, unread := flow.Get(a.view, a.in.Unread.Collection(), ref); unread {
		return false // to write it is not to permit that it is read
	}
	return a.wants()[ref]
}

// wants is what something refers to that is read for that only.
func (a *applied) wants() map[model.ObjectRef]bool {
	if a.wanted != nil {
		return a.wanted
	}
	permitted := grants{}
	each(a, model.KindReferenceGrant, a.in.ReferenceGrants, func(ref model.ObjectRef, spec *gatewayv1.ReferenceGrantSpec) {
		if permitted[ref.Namespace()] == nil {
			permitted[ref.Namespace()] = map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec{}
		}
		permitted[ref.Namespace()][ref] = spec
	})
	a.wanted = map[model.ObjectRef]bool{}
	want := func(user model.ObjectRef, spec any) {
		for _, r := range arrival.References(user, spec) {
			if resources[r.To.Kind()].demanded && permitted.mayRead(user, r.To) {
				a.wanted[r.To] = true
			}
		}
	}
	each(a, model.KindGateway, a.in.Gateways, func(ref model.ObjectRef, spec *gatewayv1.GatewaySpec) { want(ref, spec) })
	each(a, model.KindXBackend, a.in.XBackends,
		func(ref model.ObjectRef, spec *xgatewayv1alpha1.BackendSpec) { want(ref, spec) })
	return a.wanted
}

// foreignClass says whether a Gateway's class is another controller's.
func (a *applied) foreignClass(spec *gatewayv1.GatewaySpec) bool {
	class := specOf(a, a.in.GatewayClasses, model.Ref(model.KindGatewayClass, "", string(spec.GatewayClassName)))
	return class != nil && class.ControllerName != model.ControllerName
}

// foreignRoute says whether a route serves other controllers' Gateways only, or none at all. A Gateway that is not
// there may come to be ours.
func (a *applied) foreignRoute(ref model.ObjectRef, spec any) bool {
	return !slices.ContainsFunc(arrival.References(ref, spec), func(r arrival.Reference) bool {
		if r.To.Kind() != model.KindGateway {
			return false
		}
		gateway := specOf(a, a.in.Gateways, r.To)
		return gateway == nil || !a.foreignClass(gateway)
	})
}
