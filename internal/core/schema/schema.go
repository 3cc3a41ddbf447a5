package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// DefaultNamespace is the namespace of an object that does not name one, unless Schema.InNamespace states another one.
const DefaultNamespace = "default"

// Schema knows the schema of every kind of a catalog.
type Schema struct {
	catalog     *kind.Catalog
	crds        map[model.Kind]*crd
	storage     storage
	fingerprint string
	shapes      shapes
	namespace   string // of an object that does not name one
}

// New makes the schemas of a catalog. Nothing is compiled yet.
func New(catalog *kind.Catalog) *Schema {
	s := &Schema{
		catalog: catalog, crds: map[model.Kind]*crd{}, storage: newStorage(catalog), fingerprint: computeFingerprint(catalog),
		namespace: DefaultNamespace,
	}
	for _, k := range catalog.All() {
		if k.Definition != nil {
			s.crds[k.Kind] = newCRD(k)
		}
	}
	return s
}

// InNamespace makes the Schema put objects that name no namespace into another one than DefaultNamespace; "" changes
// nothing. It is called before any other method.
func (s *Schema) InNamespace(namespace string) *Schema {
	if namespace != "" {
		s.namespace = namespace
	}
	return s
}

// Fingerprint names the schemas and the libraries that check by them. An object that was valid stays valid while the
// fingerprint is the same.
func (s *Schema) Fingerprint() string { return s.fingerprint }

func computeFingerprint(catalog *kind.Catalog) string {
	h := sha256.New()
	for _, k := range catalog.All() {
		fmt.Fprintln(h, k.APIVersion(), k)
		if k.Definition != nil {
			h.Write(k.Definition.Schema)
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if strings.HasPrefix(m.Path, "k8s.io/") || strings.Contains(m.Path, "cel-go") {
				fmt.Fprintln(h, m.Path, m.Version, m.Sum)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Object is an object that passed: defaulted, valid, typed.
type Object struct {
	Ref    model.ObjectRef
	Labels model.Labels
	Stated *ServerMetadata // nil for most objects in files
	// Spec points to what package input keeps of the kind, e.g. a gatewayv1.HTTPRouteSpec or input.SecretSpec.
	Spec any
	// Old is what the next version of the object is compared with by rules over the old object; nil if its kind has none.
	Old map[string]any
}

// ServerMetadata is metadata that servers write. A field is zero if it does not stand there.
type ServerMetadata struct {
	UID        string
	Created    time.Time
	Generation int64
}

// Options of a Check.
type Options struct {
	// Old is the Old of the object's last good version, nil if it is new.
	Old map[string]any
	// KnownValid says that the same text passed before, under the same Fingerprint: only defaults and types are needed.
	KnownValid bool
}

// Check takes an object as decoded from JSON or YAML (maps, slices, strings, bools, int64, float64, nil), and keeps or
// changes what it gets. The Object is nil if any Problem is an error. For a kind that Cardea does not read it returns a
// Warning and no Object.
func (s *Schema) Check(doc map[string]any, o Options) (*Object, []Problem) {
	k, found := s.kindOf(doc)
	if len(found) > 0 {
		return nil, found
	}
	meta, found := s.readMeta(k, doc)
	if len(found) > 0 {
		return nil, found
	}
	obj := &Object{
		Ref:    model.Ref(k.Kind, meta.Namespace, meta.Name),
		Labels: model.LabelsOf(k.MergeAnnotations(meta.Labels, meta.Annotations)),
	}
	if stated := (ServerMetadata{string(meta.UID), meta.CreationTimestamp.Time,
		meta.Generation}); stated != (ServerMetadata{}) {
		obj.Stated = &stated
	}
	if c, ok := s.crds[k.Kind]; ok {
		found = c.checkObject(doc, obj, o)
	} else {
		found = s.readDocument(k.Content.Document, doc, obj)
	}
	if len(found) > 0 {
		return nil, found
	}
	return obj, nil
}

// Identify reads which object a document is about, as far as it says. The kind is KindNone if Cardea does not read it;
// label is how messages call it, e.g. "HTTPRoute shop/web".
func (s *Schema) Identify(doc map[string]any) (ref model.ObjectRef, label string) {
	apiVersion, _ := doc["apiVersion"].(string)
	kind, _ := doc["kind"].(string)
	meta, _ := doc["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	return s.IdentifyBy(apiVersion, kind, namespace, name)
}

// IdentifyBy is Identify for fields that were read some other way.
func (s *Schema) IdentifyBy(apiVersion, name, namespace, object string) (ref model.ObjectRef, label string) {
	group, _ := splitVersion(apiVersion)
	k := s.catalog.FindKind(model.KindOf(group, name))
	if namespace == "" {
		namespace = s.namespace
	}
	if k != nil && k.Cluster {
		namespace = ""
	}
	if k != nil && object != "" {
		ref = model.Ref(k.Kind, namespace, object)
		return ref, ref.String()
	}
	switch {
	case name == "":
		return ref, ""
	case object == "":
		return ref, name
	}
	return ref, name + " " + namespace + "/" + object
}

func splitVersion(apiVersion string) (group, version string) {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return group, version
	}
	return "", apiVersion
}
