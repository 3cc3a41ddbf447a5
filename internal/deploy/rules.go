package deploy

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules is what a Deployer must be permitted, as the rules of a ClusterRole.
func Rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for k := range kindsEnd {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{k.resource().Group}, Resources: []string{k.resource().Resource},
			Verbs: []string{"create", "delete", "get", "list", "patch", "watch"},
		})
	}
	return append(rules,
		// Their finalizers, and whether those are gone that the plan does not know.
		rbacv1.PolicyRule{APIGroups: []string{gateways.Group}, Resources: []string{classes.Resource, gateways.Resource},
			Verbs: []string{"get", "patch"}},
	)
}
