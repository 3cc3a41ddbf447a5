package certs

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules are the permissions that Authorities of these Secrets need in the Secrets' namespace, as the rules of a Role.
func Rules(secrets ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, ResourceNames: secrets,
			Verbs: []string{"get", "list", "update", "watch"},
		},
		// create can't be limited to a name
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	}
}
