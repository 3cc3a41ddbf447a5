package input

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// Object is an object as it enters: defaulted and valid by its schema, without status.
type Object[S any] struct {
	Meta model.Meta
	Spec *S // never nil; it is shared and never changes
}

// Content is what counts of an object as it is written down.
type Content struct {
	Ref    model.ObjectRef
	Labels model.Labels
	Spec   any // points to the type of the kind's source
}

// Source is the source of one kind.
type Source[S any] = flow.Source[model.ObjectRef, Object[S]]

// Collection is what a Source shows.
type Collection[S any] = flow.Collection[model.ObjectRef, Object[S]]

// NamespaceSpec is empty: of a Namespace its labels count.
type NamespaceSpec struct{}

// EndpointSliceSpec is an EndpointSlice's content; the Service it belongs to is in its labels.
type EndpointSliceSpec struct {
	AddressType discoveryv1.AddressType
	Endpoints   []discoveryv1.Endpoint
	Ports       []discoveryv1.EndpointPort
}

// SecretSpec is a Secret's content.
type SecretSpec struct {
	Type corev1.SecretType
	Data map[string][]byte
}

// MarshalJSON tells the names of the entries only, since JSON is what dumps show.
func (s SecretSpec) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type    corev1.SecretType
		Entries []string
	}{s.Type, slices.Sorted(maps.Keys(s.Data))})
}

// ConfigMapSpec is a ConfigMap's content.
type ConfigMapSpec struct {
	Data       map[string]string
	BinaryData map[string][]byte
}

// Broken tells of an object's mistake: where it stands ("web.yaml:12") and what it is, with its field.
type Broken struct {
	Where, Why string
}

// Sources has a source for every kind, and for what else the meaning depends on.
type Sources struct {
	GatewayClasses  *Source[gatewayv1.GatewayClassSpec]
	Gateways        *Source[gatewayv1.GatewaySpec]
	HTTPRoutes      *Source[gatewayv1.HTTPRouteSpec]
	GRPCRoutes      *Source[gatewayv1.GRPCRouteSpec]
	ReferenceGrants *Source[gatewayv1.ReferenceGrantSpec]
	Namespaces      *Source[NamespaceSpec]
	Services        *Source[corev1.ServiceSpec]
	EndpointSlices  *Source[EndpointSliceSpec]
	Secrets         *Source[SecretSpec]
	ConfigMaps      *Source[ConfigMapSpec]
	XBackends       *Source[xgatewayv1alpha1.BackendSpec]
	DataPlanes      *Source[v1alpha1.DataPlaneSpec]

	// Unread says of objects that are loaded on demand why they can't be read: they are neither there nor absent.
	Unread *flow.Source[model.ObjectRef, string]
	// Broken are objects that are declared and not taken, for none of their versions was ever without a mistake: they are
	// there for who wrote them, and for nobody else.
	Broken *flow.Source[model.ObjectRef, Broken]
	// Environment is what all proxies have in common, under the zero ObjectRef.
	Environment *flow.Source[model.ObjectRef, model.Environment]
	// Fronts tells, by Gateway, what stands before its proxies where the environment says that something does; and, by
	// XBackend, why what finds its pods can't be made (Reason and Message). An object without one was not looked at yet.
	Fronts *flow.Source[model.ObjectRef, model.Front]

	kinds map[model.Kind]Untyped
}

// New makes the sources. They are synced by whoever fills them (Synced).
func New(g *flow.Graph) *Sources {
	s := &Sources{kinds: map[model.Kind]Untyped{}}
	s.GatewayClasses = add[gatewayv1.GatewayClassSpec](g, s, model.KindGatewayClass)
	s.Gateways = add[gatewayv1.GatewaySpec](g, s, model.KindGateway)
	s.HTTPRoutes = add[gatewayv1.HTTPRouteSpec](g, s, model.KindHTTPRoute)
	s.GRPCRoutes = add[gatewayv1.GRPCRouteSpec](g, s, model.KindGRPCRoute)
	s.ReferenceGrants = add[gatewayv1.ReferenceGrantSpec](g, s, model.KindReferenceGrant)
	s.Namespaces = add[NamespaceSpec](g, s, model.KindNamespace)
	s.Services = add[corev1.ServiceSpec](g, s, model.KindService)
	s.EndpointSlices = add[EndpointSliceSpec](g, s, model.KindEndpointSlice)
	s.Secrets = add[SecretSpec](g, s, model.KindSecret)
	s.ConfigMaps = add[ConfigMapSpec](g, s, model.KindConfigMap)
	s.XBackends = add[xgatewayv1alpha1.BackendSpec](g, s, model.KindXBackend)
	s.DataPlanes = add[v1alpha1.DataPlaneSpec](g, s, model.KindDataPlane)
	s.Unread = flow.NewSource[model.ObjectRef, string](g, "input/unread")
	s.Broken = flow.NewSource[model.ObjectRef, Broken](g, "input/broken")
	s.Environment = flow.NewSource[model.ObjectRef, model.Environment](g, "input/environment")
	s.Fronts = flow.NewSource[model.ObjectRef, model.Front](g, "input/front")
	g.Apply("start", func(b *flow.Batch) { s.Fronts.Synced(b) }) // there is nothing to load
	return s
}

// Synced says that the first load of every kind of object is complete. Environment is not one of them.
func (s *Sources) Synced(b *flow.Batch) {
	for _, kind := range s.kinds {
		kind.synced(b)
	}
	s.Unread.Synced(b)
	s.Broken.Synced(b)
}

// Of is the source of a kind; nil if there is none.
func (s *Sources) Of(kind model.Kind) Untyped { return s.kinds[kind] }

// Untyped is the source of one kind for those who have the kind as a value.
type Untyped interface {
	// Set gives ref a value; spec points to the source's type, or Set panics.
	Set(b *flow.Batch, ref model.ObjectRef, meta model.Meta, spec any)
	Delete(b *flow.Batch, ref model.ObjectRef)
	// Update is Set of what is made of the present object when a turn takes the batch; spec is nil if there is none.
	Update(b *flow.Batch, ref model.ObjectRef, to func(meta model.Meta, spec any) (model.Meta, any))
	// Get is an object's content, if it is there.
	Get(v flow.View, ref model.ObjectRef) (content Content, found bool)
	// Meta is an object's metadata, if it is there, and the Rev in which the object got to be as it is.
	Meta(v flow.View, ref model.ObjectRef) (meta model.Meta, changed flow.Rev, found bool)
	// Refs are the objects that there are.
	Refs(v flow.View) []model.ObjectRef
	// Staged are the objects that the edits of a Try change; v is its View.
	Staged(v flow.View) []Staged
	// Follow begins to tell which objects change. It must not be called in a View.
	Follow() Follower
	synced(b *flow.Batch)
}

// Follower tells one reader which objects changed, as [flow.Follower] does.
type Follower interface {
	// Changed are those that came or changed from the View of the last call up to v. The first call gives all.
	Changed(v flow.View) []model.ObjectRef
	Stop()
}

type follower[S any] struct {
	*flow.Follower[model.ObjectRef, Object[S]]
}

func (f follower[S]) Changed(v flow.View) (list []model.ObjectRef) {
	for change := range f.Changes(v) {
		if !change.Deleted {
			list = append(list, change.Key)
		}
	}
	return list
}

// Staged is an object that a Try changes.
type Staged struct {
	Ref            model.ObjectRef
	Added, Removed bool // else it is changed
}

type untyped[S any] struct{ source *Source[S] }

func add[S any](g *flow.Graph, s *Sources, kind model.Kind) *Source[S] {
	source := flow.NewSource[model.ObjectRef, Object[S]](g, "input/"+kind.String())
	s.kinds[kind] = untyped[S]{source}
	return source
}

func (u untyped[S]) Set(b *flow.Batch, ref model.ObjectRef, meta model.Meta, spec any) {
	u.source.Set(b, ref, Object[S]{Meta: meta, Spec: spec.(*S)})
}

func (u untyped[S]) Delete(b *flow.Batch, ref model.ObjectRef) { u.source.Delete(b, ref) }

func (u untyped[S]) Meta(v flow.View, ref model.ObjectRef) (model.Meta, flow.Rev, bool) {
	o, found := flow.Get(v, u.source.Collection(), ref)
	return o.Meta, flow.ChangedAt(v, u.source.Collection(), ref), found
}

func (u untyped[S]) Refs(v flow.View) []model.ObjectRef {
	list := make([]model.ObjectRef, 0, flow.Len(v, u.source.Collection()))
	for ref := range flow.All(v, u.source.Collection()) {
		list = append(list, ref)
	}
	return list
}

func (u untyped[S]) Update(b *flow.Batch, ref model.ObjectRef, to func(model.Meta, any) (model.Meta, any)) {
	u.source.Update(b, ref, func(was Object[S], found bool) Object[S] {
		var present any
		if found {
			present = was.Spec
		}
		meta, spec := to(was.Meta, present)
		return Object[S]{Meta: meta, Spec: spec.(*S)}
	})
}

func (u untyped[S]) Get(v flow.View, ref model.ObjectRef) (Content, bool) {
	o, found := flow.Get(v, u.source.Collection(), ref)
	if !found {
		return Content{}, false
	}
	return Content{Ref: ref, Labels: o.Meta.Labels, Spec: o.Spec}, true
}

func (u untyped[S]) Staged(v flow.View) (list []Staged) {
	for change := range flow.Staged(v, u.source.Collection()) {
		_, existed := flow.Before(v, u.source.Collection(), change.Key)
		list = append(list, Staged{Ref: change.Key, Added: !existed, Removed: change.Deleted})
	}
	return list
}

func (u untyped[S]) Follow() Follower { return follower[S]{flow.Follow(u.source.Collection())} }

func (u untyped[S]) synced(b *flow.Batch) { u.source.Synced(b) }
