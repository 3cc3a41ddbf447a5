package kind

import (
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/core/flow"
)

// Content is how a kind's objects are values of Go. A spec is always a pointer to what sources keep of an object, and
// has the type that Spec names. CustomContent and BuiltInContent make it.
type Content struct {
	Spec reflect.Type
	// NewSource makes the source of the kind's objects.
	NewSource func(g *flow.Graph, name string) UntypedSource
	// Document is how a text of an object is read that has no schema to be read by; nil: there is a schema.
	Document *Document
	// DecodeSpec reads the spec of a document that is valid by the kind's schema; nil: see Document.
	DecodeSpec func(doc map[string]any) (spec any, err error)
	// Install tells a client how objects of a version are decoded.
	Install func(s *runtime.Scheme, version schema.GroupVersion, kind string)
	// Read takes what is kept of an object as a client decoded it. The result shares memory with it.
	Read func(object metav1.Object) (KeptObject, error)
	// Trim is what is kept of labels and a spec that were not read from a cluster. It may change them.
	Trim func(labels map[string]string, spec any) (map[string]string, any)
	// Narrow is a spec without the entries that nobody asks for; nil: all of it is kept whoever asks.
	Narrow func(spec any, keys DataKeys) any
	// Fingerprint is what tells versions of a spec apart; nil: an object's generation and KeptObject.Sum do.
	Fingerprint func(spec any) Marshaler
	// EditField is the field of an object that tells, by its owner, who made the last edit: "spec".
	EditField string
	// Show is an object as Kubernetes has it. The status is nil or what the kind's reports have.
	Show func(t metav1.TypeMeta, m metav1.ObjectMeta, spec, status any) any
}

// Document is how a text of an object is read that is built into Kubernetes: its rules are code.
type Document struct {
	Type reflect.Type // that the text is read into strictly
	// Admit defaults the object, which is a pointer to Type, and says what is wrong with it.
	Admit func(object any) (spec any, wrong field.ErrorList)
	// Name says what is wrong with a name; nil: names are DNS subdomains.
	Name func(name string, prefix bool) []string
}

// KeptObject is what is kept of an object that was read from a cluster.
type KeptObject struct {
	Labels map[string]string // nil for most kinds
	Spec   any
	// Controllers are those that have an entry in status.parents.
	Controllers []string
	Unknown     []string // see model.Meta
	// Sum is a hash of the spec of a custom kind as it was sent. It tells versions apart with the generation, which stays
	// when a definition is edited: by another one, the API server leaves other fields out, and has other defaults.
	Sum uint64
}

// Marshaler turns content into bytes that are equal for equal content.
type Marshaler interface{ Marshal() ([]byte, error) }

// CustomContent makes the content of a kind that a CustomResourceDefinition defines; S is the Go type of the spec.
func CustomContent[S any, P interface {
	*S
	DeepCopyInto(into *S)
}]() Content {
	return Content{
		Spec:      reflect.TypeFor[*S](),
		NewSource: newSource[S],
		DecodeSpec: func(doc map[string]any) (any, error) {
			spec, ok := doc["spec"].(map[string]any)
			if !ok {
				return nil, errors.New("must be a map")
			}
			s := new(S)
			return s, runtime.DefaultUnstructuredConverter.FromUnstructured(spec, s)
		},
		Install: func(s *runtime.Scheme, version schema.GroupVersion, kind string) {
			s.AddKnownTypeWithName(version.WithKind(kind), &apiObject[S]{})
			s.AddKnownTypeWithName(version.WithKind(kind+"List"), &apiObjectList[S]{})
			metav1.AddToGroupVersion(s, version)
		},
		Read: func(object metav1.Object) (KeptObject, error) {
			o, ok := object.(*apiObject[S])
			if !ok {
				return KeptObject{}, fmt.Errorf("%T is not read", object)
			}
			// A copy has no room left over in its slices; what JSON was decoded into has more than half.
			kept := KeptObject{Spec: deepCopy[S, P](&o.Spec.known), Unknown: o.Spec.unknown, Sum: o.Spec.sum}
			for _, p := range o.Status.Parents {
				kept.Controllers = append(kept.Controllers, p.ControllerName)
			}
			return kept, nil
		},
		Trim:      func(_ map[string]string, spec any) (map[string]string, any) { return nil, spec },
		EditField: "spec",
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, spec, status any) any {
			return shownObject[S]{TypeMeta: t, ObjectMeta: m, Spec: *spec.(*S), Status: status}
		},
	}
}

func deepCopy[S any, P interface {
	*S
	DeepCopyInto(into *S)
}](s *S) *S {
	c := new(S)
	P(s).DeepCopyInto(c)
	return c
}

// shownObject is an object of a custom kind as Kubernetes has it.
type shownObject[S any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              S   `json:"spec"`
	Status            any `json:"status,omitempty"`
}

// apiObject is an object of a custom kind as an API server sends it. Nothing of its status is decoded but the
// controllers that have entries there.
type apiObject[S any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              decodedSpec[S] `json:"spec"`
	Status            struct {
		Parents []struct {
			ControllerName string `json:"controllerName"`
		} `json:"parents"`
	} `json:"status"`
}

// DeepCopyObject is for the client library, which copies no object that is only read.
func (o *apiObject[S]) DeepCopyObject() runtime.Object {
	c := *o
	return &c
}

// apiObjectList is a page of them.
type apiObjectList[S any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []apiObject[S] `json:"items"`
}

// DeepCopyObject is for the client library, which copies no object that is only read.
func (l *apiObjectList[S]) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

// BuiltInKind is how a kind is that is built into Kubernetes: O is the Go type of an object, S of what is kept of it.
type BuiltInKind[O, S any] struct {
	Install   func(*runtime.Scheme) error // e.g. corev1.AddToScheme
	EditField string
	// ContentOf: the part to keep of an object, before it is trimmed.
	ContentOf func(*O) *S
	// Default and Validate are the API server's rules that matter to a gateway; nil: there are none.
	Default  func(*O)
	Validate func(*O) field.ErrorList
	Name     func(name string, prefix bool) []string // see Document
	// Trim is what is kept of labels and spec; nil: no labels, and all of the spec. It may change them.
	Trim   func(labels map[string]string, spec *S) (map[string]string, *S)
	Narrow func(spec *S, keys DataKeys) *S // see Content
	// Fingerprint is what tells versions of the content apart.
	Fingerprint func(*S) Marshaler
	Show        func(t metav1.TypeMeta, m metav1.ObjectMeta, spec *S) any
}

// BuiltInContent is the content of a kind that is built into Kubernetes.
func BuiltInContent[O, S any, P interface {
	*O
	metav1.Object
}](n BuiltInKind[O, S]) Content {
	trim := func(labels map[string]string, spec any) (map[string]string, any) {
		if n.Trim == nil {
			return nil, spec
		}
		return anyOf(n.Trim(labels, spec.(*S)))
	}
	c := Content{
		Spec:      reflect.TypeFor[*S](),
		NewSource: newSource[S],
		Document: &Document{Type: reflect.TypeFor[O](), Name: n.Name, Admit: func(object any) (any, field.ErrorList) {
			o := object.(*O)
			if n.Default != nil {
				n.Default(o)
			}
			if n.Validate == nil {
				return n.ContentOf(o), nil
			}
			return n.ContentOf(o), n.Validate(o)
		}},
		Install: func(s *runtime.Scheme, _ schema.GroupVersion, _ string) { mustInstall(n.Install, s) },
		Read: func(object metav1.Object) (KeptObject, error) {
			content := new(S)
			switch o := object.(type) {
			case P:
				content = n.ContentOf((*O)(o))
			case *metav1.PartialObjectMetadata: // nothing else is read of its kind
			default:
				return KeptObject{}, fmt.Errorf("%T is not read", object)
			}
			labels, spec := trim(object.GetLabels(), content)
			return KeptObject{Labels: labels, Spec: spec}, nil
		},
		Trim:        trim,
		Fingerprint: func(spec any) Marshaler { return n.Fingerprint(spec.(*S)) },
		EditField:   n.EditField,
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, spec, _ any) any {
			return n.Show(t, m, spec.(*S))
		},
	}
	if n.Narrow != nil {
		c.Narrow = func(spec any, keys DataKeys) any { return n.Narrow(spec.(*S), keys) }
	}
	return c
}

func anyOf[S any](labels map[string]string, spec *S) (map[string]string, any) { return labels, spec }

func mustInstall(install func(*runtime.Scheme) error, s *runtime.Scheme) {
	if err := install(s); err != nil {
		panic(fmt.Sprintf("kind: %v", err)) // a mistake of the declaration
	}
}

// LabelName is Document.Name of names that are DNS labels.
func LabelName(name string, _ bool) []string { return validation.IsDNS1123Label(name) }
