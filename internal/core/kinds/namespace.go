package kinds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func namespaceKind() *kind.Kind {
	k := kind.Kind{
		Kind: model.KindNamespace, Plural: "namespaces", Short: []string{"ns"}, Versions: []string{"v1"}, Cluster: true,
		ReadScope: kind.MetadataOnly, Cacheable: true,
		Columns: []kind.Column{{Title: "STATUS", CellText: func(kind.JSONObject) string { return "Active" }}},
	}
	k.Content = kind.BuiltInContent(kind.BuiltInKind[corev1.Namespace, input.NamespaceSpec]{
		Install: corev1.AddToScheme, EditField: "labels", Name: kind.LabelName,
		ContentOf: func(*corev1.Namespace) *input.NamespaceSpec { return &input.NamespaceSpec{} },
		Trim: func(labels map[string]string, spec *input.NamespaceSpec) (map[string]string, *input.NamespaceSpec) {
			return internKeys(labels), spec
		},
		Fingerprint: func(*input.NamespaceSpec) kind.Marshaler { return emptyContent{} },
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, _ *input.NamespaceSpec) any {
			return corev1.Namespace{TypeMeta: t, ObjectMeta: m}
		},
	})
	return &k
}

// emptyContent is no content: the labels tell versions apart.
type emptyContent struct{}

func (emptyContent) Marshal() ([]byte, error) { return nil, nil }
