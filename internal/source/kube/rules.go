package kube

import (
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// readVerbs are the verbs for what is listed and followed.
var readVerbs = []string{"list", "watch"}

// SecretRules is what an Watcher must be permitted to read a Secret: in the whole cluster, or in the namespaces of
// those that it may read.
func SecretRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: readVerbs}}
}

// ClusterRules is what an Watcher and a Reviewer must be permitted, as the rules of a ClusterRole: to read what Cardea
// reads, but for Secrets, its CustomResourceDefinitions by name, and to review tokens.
func ClusterRules(catalog *kind.Catalog) []rbacv1.PolicyRule {
	byGroup := map[string][]string{}
	var definitions []string
	for _, k := range catalog.All() {
		if k.Kind == model.KindSecret {
			continue
		}
		byGroup[k.Group()] = append(byGroup[k.Group()], k.Plural)
		if k.Definition != nil {
			definitions = append(definitions, k.ResourceName())
		}
	}
	var rules []rbacv1.PolicyRule
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		slices.Sort(byGroup[group])
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: byGroup[group], Verbs: readVerbs})
	}
	slices.Sort(definitions)
	return append(rules,
		rbacv1.PolicyRule{
			APIGroups: []string{definitionResource.Group}, Resources: []string{definitionResource.Resource},
			ResourceNames: definitions, Verbs: readVerbs,
		},
		rbacv1.PolicyRule{APIGroups: []string{authenticationv1.GroupName}, Resources: []string{"tokenreviews"},
			Verbs: []string{"create"}},
	)
}
