package extend

import (
	"reflect"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Reference is an object that a spec names. Exactly one field is stated.
type Reference struct {
	Secret    *gatewayv1.SecretObjectReference
	Backend   *gatewayv1.BackendObjectReference
	ConfigMap *ConfigMapKey
	Entry     *gatewayv1.ObjectReference // to a ConfigMap or a Secret
}

// OfSecret is a reference to a Secret as one that may also be to a ConfigMap.
func OfSecret(ref gatewayv1.SecretObjectReference) gatewayv1.ObjectReference {
	of := gatewayv1.ObjectReference{Kind: "Secret", Name: ref.Name, Namespace: ref.Namespace}
	if ref.Kind != nil {
		of.Kind = *ref.Kind
	}
	if ref.Group != nil {
		of.Group = *ref.Group
	}
	return of
}

// OfConfigMap is a reference to a ConfigMap of the policy's namespace.
func OfConfigMap(name string) gatewayv1.ObjectReference {
	return gatewayv1.ObjectReference{Kind: "ConfigMap", Name: gatewayv1.ObjectName(name)}
}

// findReferences finds what a spec names, by the types of its fields.
func findReferences(spec any) (list []Reference) {
	walkValue(reflect.ValueOf(spec), func(found any) {
		switch ref := found.(type) {
		case gatewayv1.SecretObjectReference:
			list = append(list, Reference{Secret: &ref})
		case gatewayv1.BackendObjectReference:
			list = append(list, Reference{Backend: &ref})
		case ConfigMapKey:
			list = append(list, Reference{ConfigMap: &ref})
		case gatewayv1.ObjectReference:
			list = append(list, Reference{Entry: &ref})
		}
	})
	return list
}

// walkValue visits the structs that a value holds.
func walkValue(v reflect.Value, visit func(any)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walkValue(v.Elem(), visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walkValue(v.Index(i), visit)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			walkValue(v.MapIndex(k), visit)
		}
	case reflect.Struct:
		visit(v.Interface())
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walkValue(v.Field(i), visit)
			}
		}
	}
}
