package kube

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// foreignObjects tells apart what other controllers serve, so that it costs next to nothing:
//
//   - A Gateway with another controller's GatewayClass is kept without its spec, but for the class.
//   - A route that names only such Gateways is parked: it is not kept at all. (Until its status has no entry of ours
//     any more, it stays with its parentRefs, since somebody has to take that entry away.) So is a ListenerSet.
//
// An object that is left out is listed again if it becomes ours, which is rare: somebody changed a GatewayClass.
type foreignObjects struct {
	classes      map[string]bool                      // GatewayClasses that exist: whether they are ours
	parkedRoutes map[model.ObjectRef][]kind.Reference // routes and ListenerSets that are left out, with what they name
}

// claimObject decides which controller an object belongs to: it returns the version to keep, or nil.
func (d *admitter) claimObject(o *object) *object {
	k := d.catalog.FindKind(o.ref.Kind())
	switch {
	case k.TrimForeign == nil:
		return o
	case !attachesToGateways(k) && d.foreignClass(o.index.references):
		return d.stripSpec(o, k.TrimForeign(o.spec))
	case !attachesToGateways(k):
		return o
	}
	delete(d.foreign.parkedRoutes, o.ref)
	if !d.foreignRoute(o.index.references) {
		return o
	}
	if o.hasOwnStatus {
		return d.stripSpec(o, k.TrimForeign(o.spec))
	}
	d.dropObject(o.ref)
	d.foreign.parkedRoutes[o.ref] = o.index.references
	return nil
}

// stripSpec makes an object with less of its spec. It refers to nothing that would have to be read.
func (d *admitter) stripSpec(o *object, spec any) *object {
	less := *o
	less.spec = spec
	i := *indexOf(d.catalog.FindKind(o.ref.Kind()), &less)
	i.anyPart, i.trimmed = true, true
	less.index = &i
	return &less
}

// attachesToGateways tells whether objects of a kind are served by the Gateways that they name.
func attachesToGateways(k *kind.Kind) bool { return k.Route != nil || k.Kind == model.KindListenerSet }

// foreignClass says whether a Gateway's class is another controller's, by what the Gateway names.
func (d *admitter) foreignClass(names []kind.Reference) bool {
	i := slices.IndexFunc(names, func(r kind.Reference) bool { return r.To.Kind() == model.KindGatewayClass })
	if i < 0 {
		return false
	}
	ours, exists := d.foreign.classes[names[i].To.Name()]
	return exists && !ours
}

// foreignRoute says whether a route serves other controllers' Gateways only, or none at all. A Gateway that is not
// there yet may be ours.
func (d *admitter) foreignRoute(names []kind.Reference) bool {
	return !slices.ContainsFunc(names, func(r kind.Reference) bool {
		if r.To.Kind() != model.KindGateway {
			return r.To.Kind() == model.KindListenerSet // whose Gateway may be ours
		}
		g, known := d.objects.PublishedVersion(r.To)
		return !known || !d.foreignClass(g.listReferences())
	})
}

// updateForeign updates what depends on the controller of an object that went into the graph.
func (d *admitter) updateForeign(o *object, before objectVersion, known bool) {
	switch o.ref.Kind() {
	case model.KindGatewayClass:
		spec := o.spec.(*gatewayv1.GatewayClassSpec)
		d.setClass(o.ref.Name(), true, spec.ControllerName == model.ControllerName)
	case model.KindGateway:
		// Not before.trimmed: a class of ours that was made another controller's leaves its Gateways as they are.
		if !o.index.trimmed && (!known || d.foreignClass(before.listReferences())) {
			d.relistParked(o.ref)
		}
	}
}

// setClass notes whether a GatewayClass is Cardea's, another controller's or gone, and judges its Gateways again.
func (d *admitter) setClass(class string, exists, ours bool) {
	mine, existed := d.foreign.classes[class]
	before, now := existed && !mine, exists && !ours
	if exists {
		d.foreign.classes[class] = ours
	} else {
		delete(d.foreign.classes, class)
	}
	if before == now {
		return
	}
	names := func(list []kind.Reference) bool {
		return slices.Contains(list, kind.Reference{To: model.Ref(model.KindGatewayClass, "", class)})
	}
	for ref, v := range d.objects.PublishedOfKind(model.KindGateway) {
		switch {
		case !names(v.listReferences()):
		case now:
			d.demandReferences(ref) // it stays as it is, and has nothing read for it
		default:
			// Nothing else about the Gateway is known here.
			d.dropObject(ref)
			d.relist[model.KindGateway] = struct{}{}
		}
	}
	for _, ref := range d.objects.AllWaiting() {
		if v, _ := d.objects.WaitingVersion(ref); now && ref.Kind() == model.KindGateway && names(v.listReferences()) {
			d.decideVersion(v.object)
		}
	}
}

// relistParked lets routes be listed again if one that was left out names a Gateway.
func (d *admitter) relistParked(gateway model.ObjectRef) {
	for route, names := range d.foreign.parkedRoutes {
		if slices.ContainsFunc(names, func(r kind.Reference) bool { return r.To == gateway }) {
			d.relist[route.Kind()] = struct{}{}
		}
	}
}
