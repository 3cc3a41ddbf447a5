package identity

import (
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules are the permissions that a Signer of this name needs, as the rules of a ClusterRole.
func Rules(signer string) []rbacv1.PolicyRule {
	group := []string{certificatesv1beta1.GroupName}
	return []rbacv1.PolicyRule{
		{APIGroups: group, Resources: []string{requestsResource}, Verbs: []string{"list", "watch"}},
		{APIGroups: group, Resources: []string{requestsResource + "/status"}, Verbs: []string{"patch"}},
		{APIGroups: group, Resources: []string{"signers"}, ResourceNames: []string{signer},
			Verbs: []string{"attest", "sign"}},
		// create can't be limited to a name; attest limits it to the signer's
		{APIGroups: group, Resources: []string{bundlesResource}, Verbs: []string{"create"}},
		{APIGroups: group, Resources: []string{bundlesResource}, ResourceNames: []string{BundleName(signer)},
			Verbs: []string{"get", "list", "update", "watch"}},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"pods"}, Verbs: []string{"get"}},
	}
}
