package kinds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func namespace() *kind.Kind {
	k := kind.Kind{
		Kind: model.KindNamespace, Plural: "namespaces", Short: []string{"ns"}, Versions: []string{"v1"}, Cluster: true,
		Reading: kind.MetadataOnly, Many: true,
		Columns: []kind.Column{{Title: "STATUS", Of: func(kind.Shown) string { return "Active" }}},
	}
	k.Content = kind.BuiltIn(kind.Native[corev1.Namespace, input.NamespaceSpec]{
		Install: corev1.AddToScheme, Edited: "labels", Name: kind.LabelName,
		Of: func(*corev1.Namespace) *input.NamespaceSpec { return &input.NamespaceSpec{} },
		Trim: func(labels map[string]string, spec *input.NamespaceSpec) (map[string]string, *input.NamespaceSpec) {
			return sharedKeys(labels), spec
		},
		Print: func(*input.NamespaceSpec) kind.Marshaler { return nothing{} },
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, _ *input.NamespaceSpec) any {
			return corev1.Namespace{TypeMeta: t, ObjectMeta: m}
		},
	})
	return &k
}

// nothing is no content: the labels tell versions apart.
type nothing struct{}

func (nothing) Marshal() ([]byte, error) { return nil, nil }
