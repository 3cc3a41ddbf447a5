package schema

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// checkCore defaults and validates a kind that is no custom resource. An API server has these rules in its code, where
// nobody else can call them; those that matter to a gateway are written here.
func (s *Schema) checkCore(doc map[string]any, obj *Object) []Problem {
	delete(doc, "status")
	switch obj.Ref.Kind() {
	case model.KindNamespace:
		return decode(&s.shapes, doc, func(n *corev1.Namespace) field.ErrorList {
			obj.Spec = &input.NamespaceSpec{}
			return nil
		})
	case model.KindService:
		return decode(&s.shapes, doc, func(s *corev1.Service) field.ErrorList {
			defaultService(&s.Spec)
			obj.Spec = &s.Spec
			return validateService(&s.Spec)
		})
	case model.KindEndpointSlice:
		return decode(&s.shapes, doc, func(e *discoveryv1.EndpointSlice) field.ErrorList {
			defaultEndpointSlice(e)
			obj.Spec = &input.EndpointSliceSpec{AddressType: e.AddressType, Endpoints: e.Endpoints, Ports: e.Ports}
			return validateEndpointSlice(e)
		})
	case model.KindSecret:
		return decode(&s.shapes, doc, func(s *corev1.Secret) field.ErrorList {
			defaultSecret(s)
			obj.Spec = &input.SecretSpec{Type: s.Type, Data: s.Data}
			return validateSecret(s)
		})
	case model.KindConfigMap:
		return decode(&s.shapes, doc, func(c *corev1.ConfigMap) field.ErrorList {
			obj.Spec = &input.ConfigMapSpec{Data: c.Data, BinaryData: c.BinaryData}
			return validateConfigMap(c)
		})
	}
	return []Problem{{Field: "kind", Message: "no schema for kind " + obj.Ref.Kind().String()}}
}

// decode reads a document strictly into a Go type and hands it on.
func decode[T any](shapes *shapes, doc map[string]any, use func(*T) field.ErrorList) []Problem {
	if found := shapes.check(nil, reflect.TypeFor[T](), doc); len(found) > 0 {
		return found
	}
	value := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc, value); err != nil {
		return []Problem{{Message: err.Error()}}
	}
	return problems(use(value))
}
