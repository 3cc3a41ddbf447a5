package input

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// The contents of sources, as package kind makes them.
type (
	Object[S any]     = kind.Object[S]
	Source[S any]     = kind.Source[S]
	Collection[S any] = kind.Collection[S]
)

// Content is what counts of an object as it is written down.
type Content struct {
	Ref    model.ObjectRef
	Labels model.Labels
	Spec   any // points to the type of the kind's source
}

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

// Format implements fmt.Formatter: no verb prints more than MarshalJSON.
func (s SecretSpec) Format(to fmt.State, _ rune) {
	_, _ = fmt.Fprint(to, s.Type, slices.Sorted(maps.Keys(s.Data)))
}

// ConfigMapSpec is a ConfigMap's content.
type ConfigMapSpec struct {
	Data       map[string]string
	BinaryData map[string][]byte
}

// MarshalJSON tells of binary entries the names only.
func (s ConfigMapSpec) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Data   map[string]string
		Binary []string
	}{s.Data, slices.Sorted(maps.Keys(s.BinaryData))})
}

// Broken tells of an object's mistake: where it stands ("web.yaml:12") and what it is, with its field.
type Broken struct {
	Where, Why string
}

// Closed is what is closed since an object that protects it can't be read, and no good version of it is held.
type Closed struct {
	// Of: the object, as far as it is known. Its namespace is that of the targets; "": all namespaces are meant.
	Of         model.ObjectRef
	Kind       model.Kind // the targets are closed as by objects of this kind
	Targets    []kind.Target
	Where, Why string // of the mistake, as in Broken
}

// Key names it as an object of its Kind: several documents may be of one object.
func (c Closed) Key() model.ObjectRef {
	name := fmt.Sprintf("%s (%s)", c.Of.Name(), c.Where)
	if c.Of.Kind() != c.Kind && c.Of.Kind() != model.KindNone {
		name = c.Of.Kind().String() + " " + name
	}
	return model.Ref(c.Kind, c.Of.Namespace(), strings.TrimSpace(name))
}

// Equal tells whether two are the same.
func (c Closed) Equal(other Closed) bool {
	return c.Of == other.Of && c.Kind == other.Kind && c.Where == other.Where && c.Why == other.Why &&
		slices.EqualFunc(c.Targets, other.Targets, kind.Target.Equal)
}

// Sources has a source for every kind of a catalog, and for what else their translation depends on.
type Sources struct {
	Catalog *kind.Catalog

	// Unread says of objects that are loaded on demand why they can't be read: they are neither there nor absent.
	Unread *flow.Source[model.ObjectRef, string]
	// Broken are objects that are declared and not taken, for none of their versions was ever without a mistake: they are
	// there for who wrote them, and for nobody else.
	Broken *flow.Source[model.ObjectRef, Broken]
	// Closed is what is closed since what protects it can't be read, by Closed.Key.
	Closed *flow.Source[model.ObjectRef, Closed]
	// Withdrawn are ReferenceGrants that were there until lately and are not any more: who still needs one is told so.
	Withdrawn *flow.Source[model.ObjectRef, Withdrawn]
	// Environment is what all proxies have in common, under the zero ObjectRef.
	Environment *flow.Source[model.ObjectRef, model.Environment]
	// Fronts tells, by Gateway, what stands before its proxies where the environment says that something does; and, by
	// XBackend, why what finds its pods can't be made (Reason and Message). An object without one was not looked at yet.
	Fronts *flow.Source[model.ObjectRef, model.Front]
	// Pickers tells, by InferencePool, how far the picker got that is run for it where the environment says so.
	Pickers *flow.Source[model.ObjectRef, model.Picker]
	// Unreached tells, by InferencePool, which endpoints the picker can't reach that is run for it; nothing is known of
	// one without an entry.
	Unreached *flow.Source[model.ObjectRef, model.Unreached]
	// Fetched is what is known of documents that policies depend on. Nothing is known of one without an entry.
	Fetched *flow.Source[model.FetchKey, model.Fetched]
	// Files tells which files of this machine proxies can write; nothing is known of one without an entry.
	Files *flow.Source[model.File, model.FileState]
	// LastGood is what was read of objects last that could be used (plan.Materials), for as long as somebody refers to it.
	LastGood *flow.Source[model.MaterialKey, model.Material]

	kinds map[model.Kind]kind.Untyped
}

// New makes the sources. They are synced by whoever fills them (Synced).
func New(g *flow.Graph, catalog *kind.Catalog) *Sources {
	s := &Sources{Catalog: catalog, kinds: map[model.Kind]kind.Untyped{}}
	for _, k := range catalog.All() {
		s.kinds[k.Kind] = k.Content.NewSource(g, "input/"+k.Qualified())
	}
	s.Unread = flow.NewSource[model.ObjectRef, string](g, "input/unread")
	s.Broken = flow.NewSource[model.ObjectRef, Broken](g, "input/broken")
	s.Closed = flow.NewSource[model.ObjectRef, Closed](g, "input/closed")
	s.Withdrawn = flow.NewSource[model.ObjectRef, Withdrawn](g, "input/withdrawn")
	s.Environment = flow.NewSource[model.ObjectRef, model.Environment](g, "input/environment")
	s.Fronts = flow.NewSource[model.ObjectRef, model.Front](g, "input/front")
	s.Pickers = flow.NewSource[model.ObjectRef, model.Picker](g, "input/picker")
	s.Unreached = flow.NewSource[model.ObjectRef, model.Unreached](g, "input/unreached")
	s.Fetched = flow.NewSource[model.FetchKey, model.Fetched](g, "input/fetched")
	s.Files = flow.NewSource[model.File, model.FileState](g, "input/file")
	s.LastGood = flow.NewSource[model.MaterialKey, model.Material](g, "input/last-good")
	g.Apply("start", func(b *flow.Batch) { // there is nothing to load
		s.Fronts.Synced(b)
		s.Pickers.Synced(b)
		s.Unreached.Synced(b)
		s.Fetched.Synced(b)
		s.Withdrawn.Synced(b)
		s.LastGood.Synced(b)
		s.Files.Synced(b)
	})
	return s
}

// Synced says that the first load of every kind of object is complete. Environment is not one of them.
func (s *Sources) Synced(b *flow.Batch) {
	for _, source := range s.kinds {
		source.Synced(b)
	}
	s.Unread.Synced(b)
	s.Broken.Synced(b)
	s.Closed.Synced(b)
}

// Of is the source of a kind; nil if there is none.
func (s *Sources) Of(k model.Kind) kind.Untyped { return s.kinds[k] }

// Of is the source of a kind with specs of type S. It panics if the kind is not in the catalog, or has another type:
// who asks for it was built for it.
func Of[S any](s *Sources, k model.Kind) *Source[S] {
	source, ok := s.kinds[k]
	if !ok {
		panic("input: kind " + k.Qualified() + " is not in the catalog")
	}
	return source.Typed().(*Source[S])
}
