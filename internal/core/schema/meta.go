package schema

import (
	"reflect"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/core/kind"
)

// readMeta reads an object's metadata strictly and validates it. An object of a namespaced kind that names no namespace
// is in that of the Schema.
func (s *Schema) readMeta(k *kind.Kind, doc map[string]any) (*metav1.ObjectMeta, []Problem) {
	path := field.NewPath("metadata")
	raw, ok := doc["metadata"].(map[string]any)
	if !ok {
		if doc["metadata"] == nil {
			return nil, []Problem{{Field: "metadata.name", Message: "is required"}}
		}
		return nil, wrongType(path, "a map", doc["metadata"])
	}
	// Written by servers, and of no meaning here.
	delete(raw, "managedFields")
	delete(raw, "selfLink")
	if found := s.shapes.checkShape(path, reflect.TypeFor[metav1.ObjectMeta](), raw); len(found) > 0 {
		return nil, found
	}
	meta := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, meta); err != nil {
		return nil, []Problem{{Field: "metadata", Message: err.Error()}}
	}
	if meta.Name == "" {
		message := "is required"
		if meta.GenerateName != "" {
			message += ": an object in a file can't be named by generateName"
		}
		return nil, []Problem{{Field: "metadata.name", Message: message}}
	}
	namespaced := !k.Cluster
	switch {
	case !namespaced:
		meta.Namespace = ""
		delete(raw, "namespace")
	case meta.Namespace == "":
		meta.Namespace = s.namespace
		raw["namespace"] = s.namespace
	}
	return meta, toProblems(doc, apivalidation.ValidateObjectMeta(meta, namespaced, nameRule(k), path))
}

func nameRule(k *kind.Kind) apivalidation.ValidateNameFunc {
	if d := k.Content.Document; d != nil && d.Name != nil {
		return d.Name
	}
	return apivalidation.NameIsDNSSubdomain
}
