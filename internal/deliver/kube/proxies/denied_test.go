package proxies

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestDenied: which refusals of the API server are for the user to correct, and which for the operator.
func TestDenied(t *testing.T) {
	for says, user := range map[string]bool{
		`exceeded quota: none, requested: services=1, used: services=0, limited: services=0`:                          true,
		`admission webhook "policy.example.com" denied the request: a Service cannot be of type LoadBalancer`:         true,
		`User "system:serviceaccount:cardea-system:cardea" cannot patch resource "services" in API group "" in the x`: false,
	} {
		err := apierrors.NewForbidden(corev1.Resource("services"), "web", errors.New(says))
		if isDenied(err) != user {
			t.Errorf("%v: %v", err, !user)
		}
	}
}
