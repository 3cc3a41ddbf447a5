package kube

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// others tells apart what other controllers serve, so that it costs next to nothing:
//
//   - A Gateway with another controller's GatewayClass is kept without its spec, but for the class.
//   - A route that names only such Gateways is parked: it is not kept at all. (Until its status has no entry of ours
//     any more, it stays with its parentRefs, since somebody has to take that entry away.)
//
// An object that is left out is listed again if it becomes ours, which is rare: somebody changed a GatewayClass.
type others struct {
	classes map[string]bool                      // GatewayClasses that exist: whether they are ours
	parked  map[model.ObjectRef][]kind.Reference // routes that are left out, with what they name
}

// claim decides which controller an object belongs to: it returns the version to keep, or nil.
func (d *intake) claim(o *object) *object {
	k := d.catalog.Of(o.ref.Kind())
	switch {
	case k.Foreign == nil:
		return o
	case !k.Route && d.foreignClass(o.index.names):
		return d.stripped(o, k.Foreign(o.spec))
	case !k.Route:
		return o
	}
	delete(d.others.parked, o.ref)
	if !d.foreignRoute(o.index.names) {
		return o
	}
	if o.mine {
		return d.stripped(o, k.Foreign(o.spec))
	}
	d.drop(o.ref)
	d.others.parked[o.ref] = o.index.names
	return nil
}

// stripped makes an object with less of its spec. It refers to nothing that would have to be read.
func (d *intake) stripped(o *object, spec any) *object {
	less := *o
	less.spec = spec
	i := *indexOf(d.catalog.Of(o.ref.Kind()), &less)
	i.whole, i.trimmed = true, true
	less.index = &i
	return &less
}

// foreignClass says whether a Gateway's class is another controller's, by what the Gateway names.
func (d *intake) foreignClass(names []kind.Reference) bool {
	i := slices.IndexFunc(names, func(r kind.Reference) bool { return r.To.Kind() == model.KindGatewayClass })
	if i < 0 {
		return false
	}
	ours, exists := d.others.classes[names[i].To.Name()]
	return exists && !ours
}

// foreignRoute says whether a route serves other controllers' Gateways only, or none at all. A Gateway that is not
// there yet may be ours.
func (d *intake) foreignRoute(names []kind.Reference) bool {
	return !slices.ContainsFunc(names, func(r kind.Reference) bool {
		if r.To.Kind() != model.KindGateway {
			return false
		}
		g, known := d.life.Known(r.To)
		return !known || !d.foreignClass(g.names())
	})
}

// regard updates what depends on the controller of an object that went into the graph.
func (d *intake) regard(o *object, before version, known bool) {
	switch o.ref.Kind() {
	case model.KindGatewayClass:
		spec := o.spec.(*gatewayv1.GatewayClassSpec)
		d.declare(o.ref.Name(), true, spec.ControllerName == model.ControllerName)
	case model.KindGateway:
		// Not before.trimmed: a class of ours that was made another controller's leaves its Gateways as they are.
		if !o.index.trimmed && (!known || d.foreignClass(before.names())) {
			d.unpark(o.ref)
		}
	}
}

// declare notes whether a GatewayClass is Cardea's, another controller's or gone, and judges its Gateways again.
func (d *intake) declare(class string, exists, ours bool) {
	mine, existed := d.others.classes[class]
	before, now := existed && !mine, exists && !ours
	if exists {
		d.others.classes[class] = ours
	} else {
		delete(d.others.classes, class)
	}
	if before == now {
		return
	}
	names := func(list []kind.Reference) bool {
		return slices.Contains(list, kind.Reference{To: model.Ref(model.KindGatewayClass, "", class)})
	}
	for ref, v := range d.life.AllKnown(model.KindGateway) {
		switch {
		case !names(v.names()):
		case now:
			d.want(ref) // it stays as it is, and has nothing read for it
		default:
			// Nothing else about the Gateway is known here.
			d.drop(ref)
			d.relist[model.KindGateway] = struct{}{}
		}
	}
	for _, ref := range d.life.AllWaiting() {
		if v, _ := d.life.Waiting(ref); now && ref.Kind() == model.KindGateway && names(v.names()) {
			d.decide(v.object)
		}
	}
}

// unpark lets routes be listed again if one that was left out names a Gateway.
func (d *intake) unpark(gateway model.ObjectRef) {
	for route, names := range d.others.parked {
		if slices.ContainsFunc(names, func(r kind.Reference) bool { return r.To == gateway }) {
			d.relist[route.Kind()] = struct{}{}
		}
	}
}
