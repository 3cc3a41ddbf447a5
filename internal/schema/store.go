package schema

import (
	"errors"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// head is what is stored of an object before its spec.
type head struct {
	Kind            model.Kind
	Namespace, Name string
	Labels          model.Labels
	Stated          *Stated
}

// storage is how heads are stored, and the specs of kinds of which there may be many. Secrets are not among them:
// others must not read them.
var storage = sync.OnceValues(func() (*layout, map[model.Kind]*layout) {
	known := layouts{}
	return known.layout(reflect.TypeFor[head]()), map[model.Kind]*layout{
		model.KindGateway:        known.layout(reflect.TypeFor[*gatewayv1.GatewaySpec]()),
		model.KindHTTPRoute:      known.layout(reflect.TypeFor[*gatewayv1.HTTPRouteSpec]()),
		model.KindGRPCRoute:      known.layout(reflect.TypeFor[*gatewayv1.GRPCRouteSpec]()),
		model.KindReferenceGrant: known.layout(reflect.TypeFor[*gatewayv1.ReferenceGrantSpec]()),
		model.KindNamespace:      known.layout(reflect.TypeFor[*input.NamespaceSpec]()),
		model.KindService:        known.layout(reflect.TypeFor[*corev1.ServiceSpec]()),
		model.KindEndpointSlice:  known.layout(reflect.TypeFor[*input.EndpointSliceSpec]()),
		model.KindConfigMap:      known.layout(reflect.TypeFor[*input.ConfigMapSpec]()),
		model.KindXBackend:       known.layout(reflect.TypeFor[*xgatewayv1alpha1.BackendSpec]()),
	}
})

var errNotStored = errors.New("not a stored object")

// Store appends the object as bytes, which Load of the same program turns back into an equal one. It appends nothing
// for what is not to be stored: Secrets, and objects with an Old.
func (o *Object) Store(b []byte) []byte {
	heads, specs := storage()
	spec := specs[o.Ref.Kind()]
	if spec == nil || o.Old != nil {
		return b
	}
	b = heads.write(b, reflect.ValueOf(head{o.Ref.Kind(), o.Ref.Namespace(), o.Ref.Name(), o.Labels, o.Stated}))
	return spec.writeContent(b, reflect.ValueOf(o.Spec))
}

// Load reads what Store wrote.
func (p *Pool) Load(b []byte) (Object, error) {
	heads, specs := storage()
	var h head
	s := stored{rest: b, pool: p}
	heads.read(&s, reflect.ValueOf(&h).Elem())
	spec := specs[h.Kind]
	if spec == nil || s.broken {
		return Object{}, errNotStored
	}
	value := p.part(spec, &s, s.rest)
	if s.broken {
		return Object{}, errNotStored
	}
	return Object{Ref: model.Ref(h.Kind, h.Namespace, h.Name), Labels: h.Labels, Stated: h.Stated,
		Spec: value.Interface()}, nil
}

// Share is the object itself, or an equal one that shares with others what is equal in them.
func (p *Pool) Share(o *Object) Object {
	if shared, err := p.Load(o.Store(nil)); err == nil {
		return shared
	}
	return *o
}
