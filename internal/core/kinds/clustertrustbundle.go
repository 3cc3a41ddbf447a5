package kinds

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// clusterTrustBundle is a list of authorities that a cluster publishes. Kubernetes 1.33 to 1.36 serve it as v1beta1, if
// they are told to, and later ones as v1.
func clusterTrustBundle() *kind.Kind {
	k := kind.Kind{
		Kind: model.KindClusterTrustBundle, Plural: "clustertrustbundles", Versions: []string{"v1", "v1beta1"},
		Cluster: true, ReadScope: kind.OnDemand, Optional: true, Fades: true, Cacheable: true,
		Columns: []kind.Column{fieldColumn("SIGNERNAME", "spec", "signerName")},
	}
	k.Content = kind.BuiltInContent(kind.BuiltInKind[certificatesv1.ClusterTrustBundle,
		certificatesv1.ClusterTrustBundleSpec]{
		Install: certificatesv1.AddToScheme, EditField: "spec",
		Name:        func(string, bool) []string { return nil }, // it has colons; the API server judges it
		ContentOf:   func(b *certificatesv1.ClusterTrustBundle) *certificatesv1.ClusterTrustBundleSpec { return &b.Spec },
		Validate:    validateTrustBundle,
		Fingerprint: func(s *certificatesv1.ClusterTrustBundleSpec) kind.Marshaler { return s },
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, spec *certificatesv1.ClusterTrustBundleSpec) any {
			return certificatesv1.ClusterTrustBundle{TypeMeta: t, ObjectMeta: m, Spec: *spec}
		},
	})
	// All versions have the same fields.
	k.Content.Install = func(s *runtime.Scheme, version schema.GroupVersion, name string) {
		s.AddKnownTypeWithName(version.WithKind(name), &certificatesv1.ClusterTrustBundle{})
		s.AddKnownTypeWithName(version.WithKind(name+"List"), &certificatesv1.ClusterTrustBundleList{})
		metav1.AddToGroupVersion(s, version)
	}
	return &k
}

func validateTrustBundle(b *certificatesv1.ClusterTrustBundle) field.ErrorList {
	if b.Spec.TrustBundle == "" {
		return field.ErrorList{field.Required(field.NewPath("spec", "trustBundle"), "state authorities as PEM")}
	}
	return nil
}
