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

// ObjectContent is what counts of an object as it is written down.
type ObjectContent struct {
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

// BrokenObject tells of an object's mistake: where it stands ("web.yaml:12") and what it is, with its field.
type BrokenObject struct {
	Where, Why string
}

// Environments has the Environment, by the zero key.
type Environments = flow.Collection[model.ObjectRef, model.Environment]

// BrokenObjects are the mistakes by object, whatever its kind.
type BrokenObjects = flow.Collection[model.ObjectRef, BrokenObject]

// ClosedTargets is what is closed since an object that protects it can't be read, and no good version of it is held.
type ClosedTargets struct {
	// Object: the object, as far as it is known. Its namespace is that of the targets; "": all namespaces are meant.
	Object     model.ObjectRef
	Kind       model.Kind // the targets are closed as by objects of this kind
	Targets    []kind.Target
	Where, Why string // of the mistake, as in BrokenObject
}

// OtherInUse is the Why of an object that can be read and has no effect, since another one has its name.
const OtherInUse = "another document of this name is in use"

// Key names it as an object of its Kind: several documents may be of one object.
func (c ClosedTargets) Key() model.ObjectRef {
	kind := ""
	if c.Object.Kind() != model.KindNone {
		kind = c.Object.Kind().String()
	}
	return model.Ref(c.Kind, c.Object.Namespace(), fmt.Sprintf("%s/%s (%s)", kind, c.Object.Name(), c.Where))
}

// IsClosedKey tells whether a reference is the key of ClosedTargets: no object has such a name.
func IsClosedKey(ref model.ObjectRef) bool { return strings.HasSuffix(ref.Name(), ")") }

// DescribeObject is how messages name an object, which may be the key of ClosedTargets:
// "SecurityPolicy default/sp (pol.yaml:5)".
func DescribeObject(ref model.ObjectRef) string {
	if !IsClosedKey(ref) {
		return ref.String()
	}
	kind, rest, _ := strings.Cut(ref.Name(), "/")
	rest = strings.TrimSuffix(rest, ")")
	if file := rest[:max(0, len(rest)-len(" ("))/2]; kind == "" && file != "" && rest == file+" ("+file {
		return "file " + file
	}
	name, where, _ := strings.Cut(rest, " (")
	full := name
	if ref.Namespace() != "" {
		full = ref.Namespace() + "/" + name
	}
	switch {
	case kind == "" && name == "":
		return fmt.Sprintf("an object without a kind and a name (%s)", where)
	case kind == "":
		return fmt.Sprintf("object %s (%s)", full, where)
	case name == "":
		return fmt.Sprintf("%s without a name (%s)", withArticle(kind), where)
	}
	return fmt.Sprintf("%s %s (%s)", kind, full, where)
}

func withArticle(noun string) string {
	if strings.ContainsAny(noun[:1], "AEIOUaeiou") {
		return "an " + noun
	}
	return "a " + noun
}

// Equal tells whether two are the same.
func (c ClosedTargets) Equal(other ClosedTargets) bool {
	return c.Object == other.Object && c.Kind == other.Kind && c.Where == other.Where && c.Why == other.Why &&
		slices.EqualFunc(c.Targets, other.Targets, kind.Target.Equal)
}

// Sources has a source for every kind of a catalog, and for what else their translation depends on.
type Sources struct {
	Catalog *kind.Catalog

	// Unreadable says of objects that are loaded on demand why they can't be read: they are neither there nor absent.
	Unreadable *flow.Source[model.ObjectRef, string]
	// Broken are objects that are declared and not taken, for none of their versions was ever without a mistake: they are
	// there for who wrote them, and for nobody else.
	Broken *flow.Source[model.ObjectRef, BrokenObject]
	// Closed is what is closed since what protects it can't be read, by ClosedTargets.Key.
	Closed *flow.Source[model.ObjectRef, ClosedTargets]
	// Withdrawn are ReferenceGrants that were there until lately and are not any more: who still needs one is told so.
	Withdrawn *flow.Source[model.ObjectRef, WithdrawnGrant]
	// Environment is what all proxies have in common, under the zero ObjectRef.
	Environment *flow.Source[model.ObjectRef, model.Environment]
	// Fronts tells, by Gateway, what stands before its proxies where the environment says that something does; and, by
	// XBackend, why what finds its pods can't be made (Reason and Message). An object without one was not looked at yet.
	Fronts *flow.Source[model.ObjectRef, model.Front]
	// Pickers tells, by InferencePool, how far the picker got that is run for it where the environment says so.
	Pickers *flow.Source[model.ObjectRef, model.PickerState]
	// Unreached tells, by InferencePool, which endpoints the picker can't reach that is run for it; nothing is known of
	// one without an entry.
	Unreached *flow.Source[model.ObjectRef, model.UnreachedEndpoints]
	// Fetched is what is known of documents that policies depend on. Nothing is known of one without an entry.
	Fetched *flow.Source[model.FetchKey, model.FetchState]
	// Files tells which files of this machine proxies can write; nothing is known of one without an entry.
	Files *flow.Source[model.File, model.FileState]
	// LastGood is what was read of objects last that could be used (plan.Materials), for as long as somebody refers to it.
	LastGood *flow.Source[model.MaterialKey, model.Material]

	kinds map[model.Kind]kind.UntypedSource
}

// New makes the sources. They are synced by whoever fills them (MarkSynced).
func New(g *flow.Graph, catalog *kind.Catalog) *Sources {
	s := &Sources{Catalog: catalog, kinds: map[model.Kind]kind.UntypedSource{}}
	for _, k := range catalog.All() {
		s.kinds[k.Kind] = k.Content.NewSource(g, "input/"+k.QualifiedName())
	}
	s.Unreadable = flow.NewSource[model.ObjectRef, string](g, "input/unread")
	s.Broken = flow.NewSource[model.ObjectRef, BrokenObject](g, "input/broken")
	s.Closed = flow.NewSource[model.ObjectRef, ClosedTargets](g, "input/closed")
	s.Withdrawn = flow.NewSource[model.ObjectRef, WithdrawnGrant](g, "input/withdrawn")
	s.Environment = flow.NewSource[model.ObjectRef, model.Environment](g, "input/environment")
	s.Fronts = flow.NewSource[model.ObjectRef, model.Front](g, "input/front")
	s.Pickers = flow.NewSource[model.ObjectRef, model.PickerState](g, "input/picker")
	s.Unreached = flow.NewSource[model.ObjectRef, model.UnreachedEndpoints](g, "input/unreached")
	s.Fetched = flow.NewSource[model.FetchKey, model.FetchState](g, "input/fetched")
	s.Files = flow.NewSource[model.File, model.FileState](g, "input/file")
	s.LastGood = flow.NewSource[model.MaterialKey, model.Material](g, "input/last-good")
	g.Apply("start", func(b *flow.Batch) { // there is nothing to load
		s.Fronts.MarkSynced(b)
		s.Pickers.MarkSynced(b)
		s.Unreached.MarkSynced(b)
		s.Fetched.MarkSynced(b)
		s.Withdrawn.MarkSynced(b)
		s.LastGood.MarkSynced(b)
		s.Files.MarkSynced(b)
	})
	return s
}

// MarkSynced says that the first load of every kind of object is complete. Environment is not one of them.
func (s *Sources) MarkSynced(b *flow.Batch) {
	for _, source := range s.kinds {
		source.MarkSynced(b)
	}
	s.Unreadable.MarkSynced(b)
	s.Broken.MarkSynced(b)
	s.Closed.MarkSynced(b)
}

// KindSource is the source of a kind; nil if there is none.
func (s *Sources) KindSource(k model.Kind) kind.UntypedSource { return s.kinds[k] }

// SourceOf is the source of a kind with specs of type S. It panics if the kind is not in the catalog, or has another
// type: who asks for it was built for it.
func SourceOf[S any](s *Sources, k model.Kind) *Source[S] {
	source, ok := s.kinds[k]
	if !ok {
		panic("input: kind " + k.QualifiedName() + " is not in the catalog")
	}
	return source.TypedSource().(*Source[S])
}
