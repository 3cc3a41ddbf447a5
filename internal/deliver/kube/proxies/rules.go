package proxies

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules are the permissions that a Deployer needs, as the rules of a ClusterRole.
func Rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for k := range kindsEnd {
		if k.isFiles() {
			continue // a ConfigMap, as another kind is, and a Secret
		}
		rules = append(rules, k.policyRule())
	}
	return append(rules,
		// To set their finalizers, and to find out whether one that is not in the plan is deleted.
		rbacv1.PolicyRule{APIGroups: []string{gateways.Group}, Resources: []string{classes.Resource, gateways.Resource},
			Verbs: []string{"get", "patch"}},
	)
}

// SecretRules are the further permissions that it needs for proxies that read files: in the whole cluster, or in the
// namespaces of their Gateways.
func SecretRules() []rbacv1.PolicyRule { return []rbacv1.PolicyRule{fileSecret.policyRule()} }

// policyRule permits all that is done with objects of the kind.
func (k kind) policyRule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{k.groupVersionResource().Group}, Resources: []string{k.groupVersionResource().Resource},
		Verbs: []string{"create", "delete", "get", "list", "patch", "watch"},
	}
}
