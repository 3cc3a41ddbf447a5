package kinds

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func configMap() *kind.Kind {
	k := kind.Kind{
		Kind: model.KindConfigMap, Plural: "configmaps", Short: []string{"cm"}, Versions: []string{"v1"},
		ReadScope: kind.OnDemand, Fades: true, Cacheable: true,
		Columns: []kind.Column{{Title: "DATA", CellText: countEntries("data", "binaryData")}},
	}
	k.Content = kind.BuiltInContent(kind.BuiltInKind[corev1.ConfigMap, input.ConfigMapSpec]{
		Install: corev1.AddToScheme, EditField: "data",
		ContentOf: func(c *corev1.ConfigMap) *input.ConfigMapSpec {
			return &input.ConfigMapSpec{Data: c.Data, BinaryData: c.BinaryData}
		},
		Validate: validateConfigMap,
		Fingerprint: func(c *input.ConfigMapSpec) kind.Marshaler {
			return &corev1.ConfigMap{Data: c.Data, BinaryData: c.BinaryData}
		},
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, c *input.ConfigMapSpec) any {
			return corev1.ConfigMap{TypeMeta: t, ObjectMeta: m, Data: c.Data, BinaryData: c.BinaryData}
		},
	})
	return &k
}

func validateConfigMap(c *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	data, binary := field.NewPath("data"), field.NewPath("binaryData")
	size := 0
	for k, v := range c.Data {
		errs = append(errs, validateKey(data, k)...)
		if _, ok := c.BinaryData[k]; ok {
			errs = append(errs, field.Invalid(binary.Key(k), k, fmt.Sprintf("key %q is already used in data", k)))
		}
		size += len(v)
	}
	for k, v := range c.BinaryData {
		errs = append(errs, validateKey(binary, k)...)
		size += len(v)
	}
	return append(errs, validateSize(data, size)...)
}
