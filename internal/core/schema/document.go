package schema

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"cardea.dev/cardea/internal/core/kind"
)

// readDocument reads an object of a kind that is built into Kubernetes: strictly into its Go type, and by the rules of
// its declaration.
func (s *Schema) readDocument(k *kind.Document, doc map[string]any, obj *Object) []Problem {
	delete(doc, "status")
	if found := s.shapes.checkShape(nil, k.Type, doc); len(found) > 0 {
		return found
	}
	value := reflect.New(k.Type).Interface()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc, value); err != nil {
		return []Problem{{Message: err.Error()}}
	}
	spec, wrong := k.Admit(value)
	obj.Spec = spec
	if len(wrong) == 0 {
		return nil
	}
	defaulted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		defaulted = doc
	}
	return toProblems(defaulted, wrong)
}
