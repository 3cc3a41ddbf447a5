package status

import (
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"cardea.dev/cardea/internal/core/kind"
)

// Rules is what a Status must be permitted, as the rules of a ClusterRole.
func Rules(catalog *kind.Catalog) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, k := range catalog.All() {
		if k.Status == nil {
			continue
		}
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{k.Group()}, Resources: []string{k.Plural},
				Verbs: []string{"get", "list", "watch"}},
			rbacv1.PolicyRule{APIGroups: []string{k.Group()}, Resources: []string{k.Plural + "/status"},
				Verbs: []string{"patch"}},
		)
	}
	return append(rules, rbacv1.PolicyRule{APIGroups: []string{eventsv1.GroupName}, Resources: []string{"events"},
		Verbs: []string{"create", "patch"}})
}
