package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/arrival"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// trim keeps of an object what Cardea reads. It may be called from any goroutine. The argument is not used by anyone
// else any more; the result shares memory with it.
func trim(from any) (*object, error) {
	switch from := from.(type) {
	case *object:
		return from, nil
	case *gatewayv1.GatewayClass:
		return custom(model.KindGatewayClass, from, from.Spec.DeepCopy()), nil
	case *gatewayv1.Gateway:
		return custom(model.KindGateway, from, from.Spec.DeepCopy()), nil
	case *gatewayv1.HTTPRoute:
		return routeOf(model.KindHTTPRoute, from, from.Spec.DeepCopy(), from.Status.Parents), nil
	case *gatewayv1.GRPCRoute:
		return routeOf(model.KindGRPCRoute, from, from.Spec.DeepCopy(), from.Status.Parents), nil
	case *gatewayv1.ReferenceGrant:
		return custom(model.KindReferenceGrant, from, from.Spec.DeepCopy()), nil
	case *xgatewayv1alpha1.XBackend:
		return custom(model.KindXBackend, from, from.Spec.DeepCopy()), nil
	case *v1alpha1.DataPlane:
		return custom(model.KindDataPlane, from, from.Spec.DeepCopy()), nil
	case *corev1.Service:
		labels, spec := kept(from.Labels, &from.Spec)
		return core(model.KindService, from, "spec", labels, spec, spec.(marshaler)), nil
	case *discoveryv1.EndpointSlice:
		return trimEndpointSlice(from), nil
	case *corev1.Secret:
		labels, spec := kept(from.Labels, &input.SecretSpec{Type: from.Type, Data: from.Data})
		return core(model.KindSecret, from, "data", labels, spec,
			&corev1.Secret{Type: from.Type, Data: spec.(*input.SecretSpec).Data}), nil
	case *corev1.ConfigMap:
		labels, spec := kept(from.Labels, &input.ConfigMapSpec{Data: from.Data, BinaryData: from.BinaryData})
		return core(model.KindConfigMap, from, "data", labels, spec,
			&corev1.ConfigMap{Data: from.Data, BinaryData: from.BinaryData}), nil
	case *metav1.PartialObjectMetadata: // of Namespaces
		labels, spec := kept(from.Labels, &input.NamespaceSpec{})
		return core(model.KindNamespace, from, "labels", labels, spec, none{}), nil
	}
	return nil, fmt.Errorf("%T is not read", from)
}

// kept is what is kept of an object's labels and spec, whoever has written them down. The result shares memory with the
// arguments, and may change them.
func kept(labels map[string]string, spec any) (map[string]string, any) {
	switch spec := spec.(type) {
	case *corev1.ServiceSpec:
		return nil, trimService(*spec)
	case *input.EndpointSliceSpec:
		var own map[string]string
		for _, name := range []string{discoveryv1.LabelServiceName, model.XBackendLabel} { // whose it is
			if value := labels[name]; value != "" {
				if own == nil {
					own = make(map[string]string, 1)
				}
				own[name] = value
			}
		}
		return own, trimAddresses(*spec)
	case *input.SecretSpec:
		if spec.Type != corev1.SecretTypeTLS {
			return nil, &input.SecretSpec{Type: spec.Type} // nobody reads its data, so nobody should keep it
		}
	case *input.NamespaceSpec:
		return sharedKeys(labels), spec
	}
	return nil, spec
}

// routeOf keeps a custom object that several controllers may write to the status of.
func routeOf(kind model.Kind, from metav1.Object, spec any, parents []gatewayv1.RouteParentStatus) *object {
	o := custom(kind, from, spec)
	o.mine = slices.ContainsFunc(parents,
		func(p gatewayv1.RouteParentStatus) bool { return p.ControllerName == model.ControllerName })
	return o
}

// custom is an object of a CustomResourceDefinition: its generation grows with its spec. A spec that was copied has no
// room left over in its slices; what JSON was decoded into has more than half.
func custom(kind model.Kind, from metav1.Object, spec any) *object {
	o := newObject(kind, from, metaOf(from, nil, "spec"), spec)
	o.print = fingerprint(o.meta)
	return o
}

// core is an object of a kind that is built in. Its generation is not to be relied on.
func core(
	kind model.Kind, from metav1.Object, content string, labels map[string]string, spec any, kept marshaler,
) *object {
	o := newObject(kind, from, metaOf(from, labels, content), spec)
	o.print = fingerprint(o.meta, kept)
	return o
}

func newObject(kind model.Kind, from metav1.Object, meta model.Meta, spec any) *object {
	o := &object{ref: model.Ref(kind, shared(from.GetNamespace()), from.GetName()), meta: meta, spec: spec}
	o.index.names = arrival.References(o.ref, spec)
	parts, divided := arrival.Parts(spec)
	o.index.parts, o.whole = parts, !divided
	return o
}

// trimService keeps how a Service is reached, not what it is made of.
func trimService(s corev1.ServiceSpec) *corev1.ServiceSpec {
	kept := &corev1.ServiceSpec{
		Type: s.Type, ClusterIP: s.ClusterIP, ExternalName: s.ExternalName, Ports: exact(s.Ports),
		SessionAffinity: corev1.ServiceAffinity(shared(string(s.SessionAffinity))),
	}
	for i := range kept.Ports {
		kept.Ports[i].NodePort = 0
	}
	return kept
}

// trimEndpointSlice keeps addresses and whether they are to be used; of the labels, those that say whose they are.
func trimEndpointSlice(from *discoveryv1.EndpointSlice) *object {
	labels, spec := kept(from.Labels, &input.EndpointSliceSpec{AddressType: from.AddressType, Endpoints: from.Endpoints,
		Ports: from.Ports})
	slice := spec.(*input.EndpointSliceSpec)
	o := core(model.KindEndpointSlice, from, "endpoints", labels, slice,
		&discoveryv1.EndpointSlice{AddressType: slice.AddressType, Endpoints: slice.Endpoints, Ports: slice.Ports})
	if len(slice.Endpoints) > 0 {
		o.index.backs = labels[discoveryv1.LabelServiceName]
	}
	return o
}

func trimAddresses(s input.EndpointSliceSpec) *input.EndpointSliceSpec {
	endpoints := exact(s.Endpoints)
	for i, e := range endpoints {
		endpoints[i] = discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: discoveryv1.EndpointConditions{
			Ready: pooled(e.Conditions.Ready), Serving: pooled(e.Conditions.Serving),
			Terminating: pooled(e.Conditions.Terminating),
		}}
	}
	return &input.EndpointSliceSpec{AddressType: s.AddressType, Endpoints: endpoints, Ports: exact(s.Ports)}
}

// exact is a slice without room for more.
func exact[T any](s []T) []T {
	if s == nil || cap(s) == len(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

var yes, no = true, false

// pooled is a bool that all endpoints share.
func pooled(b *bool) *bool {
	switch {
	case b == nil:
		return nil
	case *b:
		return &yes
	}
	return &no
}

func sharedKeys(labels map[string]string) map[string]string {
	if labels == nil {
		return nil
	}
	m := make(map[string]string, len(labels))
	for k, v := range labels {
		m[shared(k)] = v
	}
	return m
}

// none is no content.
type none struct{}

func (none) Marshal() ([]byte, error) { return nil, nil }
