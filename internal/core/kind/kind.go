package kind

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/model"
)

// Kind declares a kind of object.
type Kind struct {
	model.Kind
	Plural   string   // as in a path of the API: "httproutes"
	Short    []string // short names, as kubectl has them
	Versions []string // without the group; the first is the one that is shown, and that is tried first in a cluster
	Cluster  bool     // objects have no namespace
	// Definition is its CustomResourceDefinition; nil for a kind that is built into Kubernetes.
	Definition *Definition
	Content    Content

	// Backend is what objects are as backends of routes; nil: they are none.
	Backend *Backend

	// Route is what objects are as routes, which attach to Gateways by their parentRefs; nil: they are none.
	Route *Route
	// TrimForeign makes what is kept of the spec of an object that only other controllers serve; nil: all of it.
	TrimForeign func(spec any) any

	// CountsAs is another kind of policies, as which policies of this kind count, too; zero: none.
	CountsAs model.Kind

	// OlderVersions are versions in which objects of a folder may be written, too, with what makes a spec of the first
	// version of theirs. An API server converts for itself.
	OlderVersions map[string]func(spec map[string]any) (map[string]any, error)
	// Protects says what is closed while an object can't be read; nil: nothing is.
	Protects *Protection

	ReadScope ReadScope
	Optional  bool // a cluster may be without this kind: Cardea does all but what it is for
	// ReadAfter is a kind that must have been read completely before an object of this kind can be judged; zero: none.
	ReadAfter model.Kind
	// Owner says which controller an object is for; nil: nothing in an object says it.
	Owner *Owner
	// Fades: an object that was deleted stays published for a moment (lifecycle.Fading), since what names it is about to
	// change, or it is about to come back. In a cluster, a permission that is taken back must not.
	Fades bool
	// Cacheable objects may be in one folder: what was read of them is remembered from one run to the next. It must be
	// false for kinds with content that must not be written anywhere else.
	Cacheable bool

	// References lists what an object names, by its spec; nil: nothing. Objects that it does not list are not read in a
	// cluster.
	References func(from model.ObjectRef, spec any) []Reference
	// RefersTo lists the kinds of what References may name.
	RefersTo []model.Kind
	// Parts lists the parts of an object that references can name; nil: objects are named as a whole.
	Parts func(spec any) []Part
	// OwnsEndpointSlices tells whether an object has its endpoints in EndpointSlices of its own; nil: it has not.
	OwnsEndpointSlices func(spec any) bool
	// SelectsPods tells whether a cluster makes these slices for the pods that the object selects; nil: it does not.
	SelectsPods func(spec any) bool
	// Owners lists, by an object's labels, the objects that its endpoints belong to; nil: objects of this kind have none.
	// Names are as labels can hold them (model.LabelValue).
	Owners func(ref model.ObjectRef, labels model.Labels, spec any) []model.ObjectRef

	// Annotations are those that count. They are kept beside the labels (MergeAnnotations).
	Annotations []string

	// Hidden are fields, each a map, with values that nobody is shown.
	Hidden  []string
	Status  *Status // nil: nothing is written to it
	Columns []Column
	Page    *Page // nil: no page lists its fields
}

// Owner is how an object names the one that says which controller it is for: a Gateway its class.
type Owner struct {
	Field string // that names it
	Of    func(spec any) model.ObjectRef
}

// ReadScope is how much of a kind is read from a cluster.
type ReadScope uint8

const (
	// Everything: all objects, whole.
	Everything ReadScope = iota
	// OnDemand: each object by itself, when an object refers to it that may.
	OnDemand
	// MetadataOnly: of all objects the metadata.
	MetadataOnly
)

// APIVersion is the version of the API in which objects are shown, e.g. "gateway.networking.k8s.io/v1".
func (k *Kind) APIVersion() string { return k.GroupVersion(0).String() }

// GroupVersion is one of the Versions with the group.
func (k *Kind) GroupVersion(i int) schema.GroupVersion {
	return schema.GroupVersion{Group: k.Group(), Version: k.Versions[i]}
}

// ResourceName is the plural with the group: "httproutes.gateway.networking.k8s.io", the name of its definition.
func (k *Kind) ResourceName() string {
	return schema.GroupResource{Group: k.Group(), Resource: k.Plural}.String()
}

// ListReferences lists what an object names.
func (k *Kind) ListReferences(from model.ObjectRef, spec any) []Reference {
	if k.References == nil {
		return nil
	}
	return k.References(from, spec)
}

// PartsOf lists the parts of an object; divided is false if it is named as a whole.
func (k *Kind) PartsOf(spec any) (parts []Part, divided bool) {
	if k.Parts == nil {
		return nil, false
	}
	return k.Parts(spec), true
}

// MergeAnnotations returns labels and, beside them, the annotations that count. A label by the name of one is none.
func (k *Kind) MergeAnnotations(labels, annotations map[string]string) map[string]string {
	for _, name := range k.Annotations {
		value, stated := annotations[name]
		if _, is := labels[name]; !is && !stated {
			continue
		}
		labels = maps.Clone(labels)
		if delete(labels, name); stated {
			if labels == nil {
				labels = map[string]string{}
			}
			labels[name] = value
		}
	}
	return labels
}

// SplitAnnotations takes the annotations out again of what MergeAnnotations made.
func (k *Kind) SplitAnnotations(noted map[string]string) (labels, annotations map[string]string) {
	for _, name := range k.Annotations {
		if value, stated := noted[name]; stated {
			if annotations == nil {
				annotations, noted = map[string]string{}, maps.Clone(noted)
			}
			annotations[name] = value
			delete(noted, name)
		}
	}
	return noted, annotations
}
