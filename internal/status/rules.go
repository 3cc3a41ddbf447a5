package status

import (
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"cardea.dev/cardea/internal/plan"
)

// Rules is what a Status must be permitted, as the rules of a ClusterRole.
func Rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, k := range allKinds(plan.Reports{}) {
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{k.version.Group}, Resources: []string{k.plural},
				Verbs: []string{"get", "list", "watch"}},
			rbacv1.PolicyRule{APIGroups: []string{k.version.Group}, Resources: []string{k.plural + "/status"},
				Verbs: []string{"patch"}},
		)
	}
	return append(rules, rbacv1.PolicyRule{APIGroups: []string{eventsv1.GroupName}, Resources: []string{"events"},
		Verbs: []string{"create", "patch"}})
}
