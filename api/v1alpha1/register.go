package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupVersion is the group and the version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "cardea.dev", Version: "v1alpha1"}

// AddToScheme makes a scheme know this package's kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &DataPlane{}, &DataPlaneList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
