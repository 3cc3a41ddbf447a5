package deploy

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules are the permissions that a Deployer needs, as the rules of a ClusterRole.
func Rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for k := range kindsEnd {
		if k == fileMap {
			continue // a ConfigMap, too
		}
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{k.resource().Group}, Resources: []string{k.resource().Resource},
			Verbs: []string{"create", "delete", "get", "list", "patch", "watch"},
		})
	}
	return append(rules,
		// To set their finalizers, and to find out whether one that is not in the plan is deleted.
		rbacv1.PolicyRule{APIGroups: []string{gateways.Group}, Resources: []string{classes.Resource, gateways.Resource},
			Verbs: []string{"get", "patch"}},
	)
}
