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

// SimulateApply tells what would be read of objects if somebody applied them (kubectl apply) to the cluster as v shows
// it: what is kept of each, with what stays there though it is not stated. Objects that nobody would read are left out.
// The owners of fields are not kept, so a spec is taken to be stated whole, but for what the API server assigns. Each
// object comes once, defaulted and valid; specs may be changed.
//
// unknown is what would be read because one of the objects begins to refer to it: it is neither stated nor known to be
// absent.
func (e *Watcher) SimulateApply(
	v flow.View, objects []input.ObjectContent,
) (read []input.ObjectContent, unknown []model.ObjectRef) {
	a := &appliedCluster{sources: e.sources, catalog: e.sources.Catalog, view: v,
		appliedObjects: map[model.ObjectRef]input.ObjectContent{}}
	for _, o := range objects {
		labels, spec := a.catalog.FindKind(o.Ref.Kind()).Content.Trim(o.Labels.ToMap(), o.Spec)
		a.appliedObjects[o.Ref] = input.ObjectContent{Ref: o.Ref, Labels: model.LabelsOf(labels), Spec: spec}
	}
	for ref, o := range a.appliedObjects {
		a.appliedObjects[ref] = a.mergeLive(o)
	}
	for _, o := range objects {
		if a.isRead(o.Ref) {
			read = append(read, a.narrowEntries(a.appliedObjects[o.Ref]))
		}
	}
	return read, a.findUnknown()
}

// findUnknown lists what objects begin to refer to.
func (a *appliedCluster) findUnknown() (list []model.ObjectRef) {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(a.appliedObjects)), a.namesDemanded) {
		return nil
	}
	before := (&appliedCluster{sources: a.sources, catalog: a.catalog, view: a.view}).demandedEntries()
	for ref := range a.demandedEntries() {
		_, stated := a.appliedObjects[ref]
		_, found := a.sources.KindSource(ref.Kind()).Get(a.view, ref)
		if _, wanted := before[ref]; !wanted && !stated && !found {
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, model.ObjectRef.Compare)
	return list
}

// namesDemanded says whether an object may bring about that something is read that it, or another one, refers to.
func (a *appliedCluster) namesDemanded(ref model.ObjectRef) bool {
	kind := ref.Kind()
	return kind == model.KindReferenceGrant || a.catalog.NamesOnDemand(kind) ||
		slices.ContainsFunc(a.catalog.All(), func(k *declaration) bool {
			return k.ReadAfter == kind && a.catalog.NamesOnDemand(k.Kind)
		})
}

// appliedCluster is a cluster to which objects are applied.
type appliedCluster struct {
	sources        *input.Sources
	catalog        *kind.Catalog
	view           flow.View
	appliedObjects map[model.ObjectRef]input.ObjectContent
	demands        map[model.ObjectRef]kind.DataKeys // nil: nobody has asked yet
}

// declaration is a kind's declaration.
type declaration = kind.Kind

// specOf is the spec that an object has then; nil if there is none.
func (a *appliedCluster) specOf(ref model.ObjectRef) any {
	if o, is := a.appliedObjects[ref]; is {
		return o.Spec
	}
	o, _ := a.sources.KindSource(ref.Kind()).Get(a.view, ref)
	return o.Spec
}

// visitKind goes through the objects of a kind that there are then.
func (a *appliedCluster) visitKind(kind model.Kind, do func(ref model.ObjectRef, spec any)) {
	source := a.sources.KindSource(kind)
	for _, ref := range source.ListRefs(a.view) {
		if _, again := a.appliedObjects[ref]; !again {
			o, _ := source.Get(a.view, ref)
			do(ref, o.Spec)
		}
	}
	for ref, o := range a.appliedObjects {
		if ref.Kind() == kind {
			do(ref, o.Spec)
		}
	}
}

// mergeLive adds what stays of the object that is there, and takes from it what is another controller's.
func (a *appliedCluster) mergeLive(o input.ObjectContent) input.ObjectContent {
	was, found := a.sources.KindSource(o.Ref.Kind()).Get(a.view, o.Ref)
	if k := a.catalog.FindKind(o.Ref.Kind()); k.TrimForeign != nil && a.isForeign(k, o) {
		o.Spec = k.TrimForeign(o.Spec)
	}
	switch spec := o.Spec.(type) {
	case *corev1.ServiceSpec:
		if found && spec.ClusterIP == "" && spec.Type != corev1.ServiceTypeExternalName {
			spec.ClusterIP = was.Spec.(*corev1.ServiceSpec).ClusterIP // the API server's: it stays
		}
	case *input.NamespaceSpec:
		o.Labels = mergeLabels(was.Meta.Labels, model.Labels{{Key: corev1.LabelMetadataName, Value: o.Ref.Name()}}, o.Labels)
	case *input.EndpointSliceSpec:
		o.Labels = mergeLabels(was.Meta.Labels, o.Labels)
	}
	return o
}

// isForeign says whether only other controllers would serve an object: a route, a ListenerSet, or a Gateway.
func (a *appliedCluster) isForeign(k *declaration, o input.ObjectContent) bool {
	if attachesToGateways(k) {
		return a.foreignRoute(o.Ref, o.Spec)
	}
	gateway, is := o.Spec.(*gatewayv1.GatewaySpec)
	return is && a.foreignClass(gateway)
}

// mergeLabels merges labels; later ones win.
func mergeLabels(lists ...model.Labels) model.Labels {
	all := map[string]string{}
	for _, l := range lists {
		maps.Copy(all, l.ToMap())
	}
	return model.LabelsOf(all)
}

// isRead says whether an object that is stated would be in the graph.
func (a *appliedCluster) isRead(ref model.ObjectRef) bool {
	if _, found := a.sources.KindSource(ref.Kind()).Get(a.view, ref); found {
		return true
	}
	if attachesToGateways(a.catalog.FindKind(ref.Kind())) {
		return !a.foreignRoute(ref, a.appliedObjects[ref].Spec)
	}
	if a.catalog.FindKind(ref.Kind()).ReadScope != kind.OnDemand {
		return true
	}
	if _, unread := flow.Get(a.view, a.sources.Unreadable.Collection(), ref); unread {
		return false // to write it is not to permit that it is read
	}
	_, wanted := a.demandedEntries()[ref]
	return wanted
}

// narrowEntries makes an object without the entries that nobody asks for.
func (a *appliedCluster) narrowEntries(o input.ObjectContent) input.ObjectContent {
	if narrow := a.catalog.FindKind(o.Ref.Kind()).Content.Narrow; narrow != nil {
		o.Spec = narrow(o.Spec, a.demandedEntries()[o.Ref])
	}
	return o
}

// demandedEntries is what something refers to that is read for that only, and which of its entries.
func (a *appliedCluster) demandedEntries() map[model.ObjectRef]kind.DataKeys {
	if a.demands != nil {
		return a.demands
	}
	permitted := grants{}
	a.visitKind(model.KindReferenceGrant, func(ref model.ObjectRef, spec any) {
		if permitted[ref.Namespace()] == nil {
			permitted[ref.Namespace()] = map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec{}
		}
		permitted[ref.Namespace()][ref] = spec.(*gatewayv1.ReferenceGrantSpec)
	})
	a.demands = map[model.ObjectRef]kind.DataKeys{}
	for _, k := range a.catalog.All() {
		if !a.catalog.NamesOnDemand(k.Kind) {
			continue
		}
		a.visitKind(k.Kind, func(user model.ObjectRef, spec any) {
			for _, r := range k.ListReferences(user, spec) {
				if a.catalog.FindKind(r.To.Kind()).ReadScope == kind.OnDemand && permitted.mayRead(user, r.To) {
					a.demands[r.To] = max(a.demands[r.To], r.Keys)
				}
			}
		})
	}
	return a.demands
}

// foreignClass says whether a Gateway's class is another controller's.
func (a *appliedCluster) foreignClass(spec *gatewayv1.GatewaySpec) bool {
	ref := model.Ref(model.KindGatewayClass, "", string(spec.GatewayClassName))
	class, found := a.specOf(ref).(*gatewayv1.GatewayClassSpec)
	return found && class.ControllerName != model.ControllerName
}

// foreignRoute says whether a route serves other controllers' Gateways only, or none at all. A Gateway that is not
// there may come to be ours.
func (a *appliedCluster) foreignRoute(ref model.ObjectRef, spec any) bool {
	return !slices.ContainsFunc(a.catalog.ListReferences(ref, spec), func(r kind.Reference) bool {
		if r.To.Kind() != model.KindGateway {
			return r.To.Kind() == model.KindListenerSet // whose Gateway may be ours
		}
		gateway, found := a.specOf(r.To).(*gatewayv1.GatewaySpec)
		return !found || !a.foreignClass(gateway)
	})
}
