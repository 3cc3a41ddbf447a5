package objects

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/world"
)

// Objects are a world's objects, with their status. It is what package admin shows.
type Objects struct {
	world  *world.World
	kinds  map[model.Kind]shelf
	stamps *stamps
}

// New makes Objects; Run keeps statuses up to date.
func New(w *world.World) *Objects {
	s := newStamps(time.Now)
	return &Objects{world: w, kinds: shelves(w, s), stamps: s}
}

// Run stamps what every turn changes, until ctx is done.
func (o *Objects) Run(ctx context.Context) error { return o.stamps.follow(ctx, o.world) }

// shelf holds the objects of one kind.
type shelf struct {
	get  func(v flow.View, ref model.ObjectRef) (any, bool)
	refs func(v flow.View, namespace string) []model.ObjectRef
	size func(v flow.View) int
}

// head is what objects of all kinds have.
type head struct {
	Type metav1.TypeMeta
	Meta metav1.ObjectMeta
	Ref  model.ObjectRef
	view flow.View
}

// newShelf shows a source's objects, each made by show.
func newShelf[S any](c *input.Collection[S], show func(head, S) any) shelf {
	return shelf{
		get: func(v flow.View, ref model.ObjectRef) (any, bool) {
			o, found := flow.Get(v, c, ref)
			if !found {
				return nil, false
			}
			return show(head{typeMeta(ref.Kind()), objectMeta(ref, o.Meta), ref, v}, *o.Spec), true
		},
		refs: func(v flow.View, namespace string) []model.ObjectRef {
			var list []model.ObjectRef
			for ref := range flow.All(v, c) {
				if namespace == "" || ref.Namespace() == namespace {
					list = append(list, ref)
				}
			}
			return list
		},
		size: func(v flow.View) int { return flow.Len(v, c) },
	}
}

// Count is how many objects of a kind there are.
func (o *Objects) Count(kind model.Kind) (n int, err error) {
	shelf, known := o.kinds[kind]
	if !known {
		return 0, fmt.Errorf("objects of kind %s are not kept", kind)
	}
	o.world.Graph.View(func(v flow.View) { n = shelf.size(v) })
	return n, nil
}

// List shows the objects of a kind, in a namespace or ("") in all, by namespace and name.
func (o *Objects) List(kind model.Kind, namespace string) (list []json.RawMessage, err error) {
	shelf, known := o.kinds[kind]
	if !known {
		return nil, fmt.Errorf("objects of kind %s are not kept", kind)
	}
	var shown []any
	o.world.Graph.View(func(v flow.View) {
		refs := shelf.refs(v, namespace)
		slices.SortFunc(refs, model.ObjectRef.Compare)
		for _, ref := range refs {
			object, _ := shelf.get(v, ref)
			shown = append(shown, object)
		}
	})
	for _, object := range shown {
		b, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", kind, err)
		}
		list = append(list, b)
	}
	return list, nil
}

// Get shows one object.
func (o *Objects) Get(ref model.ObjectRef) (json.RawMessage, bool, error) {
	var object any
	var found bool
	o.world.Graph.View(func(v flow.View) {
		if shelf, known := o.kinds[ref.Kind()]; known {
			object, found = shelf.get(v, ref)
		}
	})
	if !found {
		return nil, false, nil
	}
	b, err := json.Marshal(object)
	if err != nil {
		return nil, false, fmt.Errorf("show %s: %w", ref, err)
	}
	return b, true, nil
}

func typeMeta(kind model.Kind) metav1.TypeMeta {
	version := map[model.Kind]string{
		model.KindNamespace: "v1", model.KindService: "v1", model.KindSecret: "v1", model.KindConfigMap: "v1",
		model.KindEndpointSlice: "discovery.k8s.io/v1", model.KindXBackend: xgatewayv1alpha1.GroupVersion.String(),
		model.KindDataPlane: v1alpha1.GroupVersion.String(),
	}[kind]
	if version == "" {
		version = gatewayv1.GroupVersion.String()
	}
	return metav1.TypeMeta{APIVersion: version, Kind: kind.String()}
}

func objectMeta(ref model.ObjectRef, m model.Meta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: ref.Name(), Namespace: ref.Namespace(), UID: types.UID(cmp.Or(m.UID, derivedUID(ref))),
		Generation:        m.Generation,
		CreationTimestamp: metav1.NewTime(m.Created), Labels: m.Labels.Map(),
	}
}

// derivedUID is a UID that is the same in every run, for an object that states none.
func derivedUID(ref model.ObjectRef) string {
	d := sha256.Sum256([]byte(ref.Kind().Group() + "/" + ref.String()))
	d[6], d[8] = d[6]&0x0f|0x80, d[8]&0x3f|0x80 // a UUID of version 8: made by a rule of our own
	h := hex.EncodeToString(d[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func shelves(w *world.World, s *stamps) map[model.Kind]shelf {
	in := w.Sources
	return map[model.Kind]shelf{
		model.KindGatewayClass: newShelf(in.GatewayClasses.Collection(), func(o head, spec gatewayv1.GatewayClassSpec) any {
			return gatewayv1.GatewayClass{TypeMeta: o.Type, ObjectMeta: o.Meta, Spec: spec,
				Status: stamped(s, o, w.Reports.GatewayClasses, stampClass)}
		}),
		model.KindGateway: newShelf(in.Gateways.Collection(), func(o head, spec gatewayv1.GatewaySpec) any {
			return gatewayv1.Gateway{TypeMeta: o.Type, ObjectMeta: o.Meta, Spec: spec,
				Status: stamped(s, o, w.Reports.Gateways, stampGateway)}
		}),
		model.KindHTTPRoute: newShelf(in.HTTPRoutes.Collection(), func(o head, spec gatewayv1.HTTPRouteSpec) any {
			return gatewayv1.HTTPRoute{TypeMeta: o.Type, ObjectMeta: o.Meta, Spec: spec,
				Status: stamped(s, o, w.Reports.HTTPRoutes, stampHTTPRoute)}
		}),
		model.KindGRPCRoute: newShelf(in.GRPCRoutes.Collection(), func(o head, spec gatewayv1.GRPCRouteSpec) any {
			return gatewayv1.GRPCRoute{TypeMeta: o.Type, ObjectMeta: o.Meta, Spec: spec,
				Status: stamped(s, o, w.Reports.GRPCRoutes, stampGRPCRoute)}
		}),
		model.KindReferenceGrant: newShelf(in.ReferenceGrants.Collection(),
			func(o head, spec gatewayv1.ReferenceGrantSpec) any {
				return gatewayv1.ReferenceGrant{TypeMeta: o.Type, ObjectMeta: o.Meta, Spec: spec}
			}),
		model.KindNamespace: newShelf(in.Namespaces.Collection(), func(o head, _ input.NamespaceSpec) any {
			return corev1.Namespace{TypeMeta: o.Type, ObjectMeta: o.Meta}
		}),
		model.KindService: newShelf(in.Services.Collection(), func(o head, spec corev1.ServiceSpec) any {
			return corev1.Service{TypeMeta: o.Type, ObjectMeta: o.Meta, Spec: spec}
		}),
		model.KindEndpointSlice: newShelf(in.EndpointSlices.Collection(), func(o head, spec input.EndpointSliceSpec) any {
			return discoveryv1.EndpointSlice{TypeMeta: o.Type, ObjectMeta: o.Meta, AddressType: spec.AddressType,
				Endpoints: spec.Endpoints, Ports: spec.Ports}
		}),
		model.KindSecret: newShelf(in.Secrets.Collection(), func(o head, spec input.SecretSpec) any {
			return corev1.Secret{TypeMeta: o.Type, ObjectMeta: o.Meta, Type: spec.Type, Data: spec.Data}
		}),
		model.KindConfigMap: newShelf(in.ConfigMaps.Collection(), func(o head, spec input.ConfigMapSpec) any {
			return corev1.ConfigMap{TypeMeta: o.Type, ObjectMeta: o.Meta, Data: spec.Data, BinaryData: spec.BinaryData}
		}),
		model.KindDataPlane: newShelf(in.DataPlanes.Collection(), func(o head, spec v1alpha1.DataPlaneSpec) any {
			return v1alpha1.DataPlane{TypeMeta: o.Type, ObjectMeta: o.Meta, Spec: spec}
		}),
		model.KindXBackend: newShelf(in.XBackends.Collection(), func(o head, spec xgatewayv1alpha1.BackendSpec) any {
			return xgatewayv1alpha1.XBackend{TypeMeta: o.Type, ObjectMeta: o.Meta, Spec: spec,
				Status: stamped(s, o, w.Reports.XBackends, stampBackend)}
		}),
	}
}
