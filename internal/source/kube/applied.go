package kube

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Applied tells what would be read of objects if somebody applied them (kubectl apply) to the cluster as v shows it:
// what is kept of each, with what stays there though it is not stated. Objects that nobody would read are left out. The
// owners of fields are not kept, so a spec is taken to be stated whole, but for what the API server assigns. Each
// object comes once, defaulted and valid; specs may be changed.
//
// unknown is what would be read because one of the objects begins to refer to it: it is neither stated nor known to be
// absent.
func (e *Edge) Applied(v flow.View, objects []input.Content) (read []input.Content, unknown []model.ObjectRef) {
	a := &applied{in: e.sources, catalog: e.sources.Catalog, view: v, stated: map[model.ObjectRef]input.Content{}}
	for _, o := range objects {
		labels, spec := a.catalog.Of(o.Ref.Kind()).Content.Trim(o.Labels.Map(), o.Spec)
		a.stated[o.Ref] = input.Content{Ref: o.Ref, Labels: model.LabelsOf(labels), Spec: spec}
	}
	for ref, o := range a.stated {
		a.stated[ref] = a.merge(o)
	}
	for _, o := range objects {
		if a.isRead(o.Ref) {
			read = append(read, a.narrowed(a.stated[o.Ref]))
		}
	}
	return read, a.unknown()
}

// unknown lists what objects begin to refer to.
func (a *applied) unknown() (list []model.ObjectRef) {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(a.stated)), a.namesDemanded) {
		return nil
	}
	before := (&applied{in: a.in, catalog: a.catalog, view: a.view}).wants()
	for ref := range a.wants() {
		_, stated := a.stated[ref]
		_, found := a.in.Of(ref.Kind()).Get(a.view, ref)
		if _, wanted := before[ref]; !wanted && !stated && !found {
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, model.ObjectRef.Compare)
	return list
}

// namesDemanded says whether an object may bring about that something is read that it, or another one, refers to.
func (a *applied) namesDemanded(ref model.ObjectRef) bool {
	kind := ref.Kind()
	return kind == model.KindReferenceGrant || a.catalog.NamesOnDemand(kind) ||
		slices.ContainsFunc(a.catalog.All(), func(k *declared) bool {
			return k.After == kind && a.catalog.NamesOnDemand(k.Kind)
		})
}

// applied is a cluster to which objects are applied.
type applied struct {
	in      *input.Sources
	catalog *kind.Catalog
	view    flow.View
	stated  map[model.ObjectRef]input.Content
	wanted  map[model.ObjectRef]kind.Keys // nil: nobody has asked yet
}

// declared is a kind's declaration.
type declared = kind.Kind

// specOf is the spec that an object has then; nil if there is none.
func (a *applied) specOf(ref model.ObjectRef) any {
	if o, is := a.stated[ref]; is {
		return o.Spec
	}
	o, _ := a.in.Of(ref.Kind()).Get(a.view, ref)
	return o.Spec
}

// each goes through the objects of a kind that there are then.
func (a *applied) each(kind model.Kind, do func(ref model.ObjectRef, spec any)) {
	source := a.in.Of(kind)
	for _, ref := range source.Refs(a.view) {
		if _, again := a.stated[ref]; !again {
			o, _ := source.Get(a.view, ref)
			do(ref, o.Spec)
		}
	}
	for ref, o := range a.stated {
		if ref.Kind() == kind {
			do(ref, o.Spec)
		}
	}
}

// merge adds what stays of the object that is there, and takes from it what is another controller's.
func (a *applied) merge(o input.Content) input.Content {
	was, found := a.in.Of(o.Ref.Kind()).Get(a.view, o.Ref)
	if k := a.catalog.Of(o.Ref.Kind()); k.Foreign != nil && a.isForeign(k, o) {
		o.Spec = k.Foreign(o.Spec)
	}
	switch spec := o.Spec.(type) {
	case *corev1.ServiceSpec:
		if found && spec.ClusterIP == "" && spec.Type != corev1.ServiceTypeExternalName {
			spec.ClusterIP = was.Spec.(*corev1.ServiceSpec).ClusterIP // the API server's: it stays
		}
	case *input.NamespaceSpec:
		o.Labels = over(was.Meta.Labels, model.Labels{{Key: corev1.LabelMetadataName, Value: o.Ref.Name()}}, o.Labels)
	case *input.EndpointSliceSpec:
		o.Labels = over(was.Meta.Labels, o.Labels)
	}
	return o
}

// isForeign says whether only other controllers would serve an object: a route, or a Gateway.
func (a *applied) isForeign(k *declared, o input.Content) bool {
	if k.Route {
		return a.foreignRoute(o.Ref, o.Spec)
	}
	gateway, is := o.Spec.(*gatewayv1.GatewaySpec)
	return is && a.foreignClass(gateway)
}

// over merges labels; later ones win.
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
	if a.catalog.Of(ref.Kind()).Route {
		return !a.foreignRoute(ref, a.stated[ref].Spec)
	}
	if a.catalog.Of(ref.Kind()).Reading != kind.OnDemand {
		return true
	}
	if _, unread := flow.Get(a.view, a.in.Unread.Collection(), ref); unread {
		return false // to write it is not to permit that it is read
	}
	_, wanted := a.wants()[ref]
	return wanted
}

// narrowed makes an object without the entries that nobody asks for.
func (a *applied) narrowed(o input.Content) input.Content {
	if narrow := a.catalog.Of(o.Ref.Kind()).Content.Narrow; narrow != nil {
		o.Spec = narrow(o.Spec, a.wants()[o.Ref])
	}
	return o
}

// wants is what something refers to that is read for that only, and which of its entries.
func (a *applied) wants() map[model.ObjectRef]kind.Keys {
	if a.wanted != nil {
		return a.wanted
	}
	permitted := grants{}
	a.each(model.KindReferenceGrant, func(ref model.ObjectRef, spec any) {
		if permitted[ref.Namespace()] == nil {
			permitted[ref.Namespace()] = map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec{}
		}
		permitted[ref.Namespace()][ref] = spec.(*gatewayv1.ReferenceGrantSpec)
	})
	a.wanted = map[model.ObjectRef]kind.Keys{}
	for _, k := range a.catalog.All() {
		if !a.catalog.NamesOnDemand(k.Kind) {
			continue
		}
		a.each(k.Kind, func(user model.ObjectRef, spec any) {
			for _, r := range k.Names(user, spec) {
				if a.catalog.Of(r.To.Kind()).Reading == kind.OnDemand && permitted.mayRead(user, r.To) {
					a.wanted[r.To] = max(a.wanted[r.To], r.Keys)
				}
			}
		})
	}
	return a.wanted
}

// foreignClass says whether a Gateway's class is another controller's.
func (a *applied) foreignClass(spec *gatewayv1.GatewaySpec) bool {
	ref := model.Ref(model.KindGatewayClass, "", string(spec.GatewayClassName))
	class, found := a.specOf(ref).(*gatewayv1.GatewayClassSpec)
	return found && class.ControllerName != model.ControllerName
}

// foreignRoute says whether a route serves other controllers' Gateways only, or none at all. A Gateway that is not
// there may come to be ours.
func (a *applied) foreignRoute(ref model.ObjectRef, spec any) bool {
	return !slices.ContainsFunc(a.catalog.Names(ref, spec), func(r kind.Reference) bool {
		if r.To.Kind() != model.KindGateway {
			return false
		}
		gateway, found := a.specOf(r.To).(*gatewayv1.GatewaySpec)
		return !found || !a.foreignClass(gateway)
	})
}
