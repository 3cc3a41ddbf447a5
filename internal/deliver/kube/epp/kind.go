package epp

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind of object that is applied. The order is the order of creation.
type kind int

const (
	serviceAccount kind = iota
	roleBinding         // before the pods that need it
	deployment
	service
	kindsEnd
)

func (k kind) String() string {
	return [...]string{"ServiceAccount", "RoleBinding", "Deployment", "Service"}[k]
}

// groupVersionResource is the resource of a kind, as in URLs.
func (k kind) groupVersionResource() schema.GroupVersionResource {
	return [...]schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
		rbacv1.SchemeGroupVersion.WithResource("rolebindings"),
		appsv1.SchemeGroupVersion.WithResource("deployments"),
		corev1.SchemeGroupVersion.WithResource("services"),
	}[k]
}

// Rules are the permissions that a Runner needs, as the rules of a ClusterRole. It may bind one role without having
// that role's rights. Kubernetes lets it bind, too, whatever has no more rights than it has itself.
func Rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for k := range kindsEnd {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{k.groupVersionResource().Group}, Resources: []string{k.groupVersionResource().Resource},
			Verbs: []string{"create", "delete", "get", "list", "patch", "watch"},
		})
	}
	return append(rules, rbacv1.PolicyRule{
		APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{Role},
		Verbs: []string{"bind"},
	})
}

// Role is the name of the ClusterRole that pickers have in the namespaces of their pools.
const Role = "cardea-picker"

// RoleRules are its rules: what `cardea picker --pool` reads.
func RoleRules() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: read},
		{APIGroups: []string{"inference.networking.k8s.io"}, Resources: []string{"inferencepools"}, Verbs: read},
		{
			APIGroups: []string{"inference.networking.x-k8s.io"},
			Resources: []string{"inferencemodelrewrites", "inferenceobjectives"}, Verbs: read,
		},
	}
}
