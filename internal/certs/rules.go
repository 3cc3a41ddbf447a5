package certs

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules are the permissions that an Authority needs in its Secret's namespace, as the rules of a Role.
func Rules(secret string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, ResourceNames: []string{secret},
			Verbs: []string{"get", "list", "update", "watch"},
		},
		// create can't be limited to a name
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	}
}
