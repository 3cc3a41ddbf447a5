package kube

import (
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"cardea.dev/cardea/internal/kind"
)

// Rules is what an Edge and a Reviewer must be permitted, as the rules of a ClusterRole: to read what Cardea reads, its
// CustomResourceDefinitions by name, and to review tokens.
func Rules(catalog *kind.Catalog) []rbacv1.PolicyRule {
	read := []string{"list", "watch"}
	byGroup := map[string][]string{}
	var definitions []string
	for _, k := range catalog.All() {
		byGroup[k.Group()] = append(byGroup[k.Group()], k.Plural)
		if k.Definition != nil {
			definitions = append(definitions, k.Resource())
		}
	}
	var rules []rbacv1.PolicyRule
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		slices.Sort(byGroup[group])
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: byGroup[group], Verbs: read})
	}
	slices.Sort(definitions)
	return append(rules,
		rbacv1.PolicyRule{
			APIGroups: []string{definitionResource.Group}, Resources: []string{definitionResource.Resource},
			ResourceNames: definitions, Verbs: read,
		},
		rbacv1.PolicyRule{APIGroups: []string{authenticationv1.GroupName}, Resources: []string{"tokenreviews"},
			Verbs: []string{"create"}},
	)
}
