package auth

import (
	"slices"
	"strings"
	"sync"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/ledger"
)

// builtinGroups are the groups of Kubernetes' own kinds, by kind.
var builtinGroups = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(builtinKinds) {
		words := strings.Fields(line)
		for _, group := range words[1:] {
			all[words[0]] = append(all[words[0]], strings.TrimPrefix(group, coreGroup))
		}
	}
	return all
})

// KindGroups are the groups of a kind of Kubernetes' own: several of "Event". None: it has no such kind.
func KindGroups(kind string) []string { return builtinGroups()[kind] }

// expandKinds are the kinds of a grant with their groups. A kind that states no group stands for the kinds of this name
// in all groups that are known, and in no other: a kind of the same name that somebody defines in a group of their own
// is not included.
func expandKinds(kinds []string, groups func(kind string) []string) (list []string) {
	for _, word := range kinds {
		known := groups(word)
		if word == "*" || strings.Contains(word, ".") || len(known) == 0 {
			list = append(list, word) // without a group, it is of the core
			continue
		}
		for _, group := range known {
			list = append(list, strings.TrimSuffix(word+"."+group, "."))
		}
	}
	return list
}

// GroupsOf finds the groups of kinds in a catalog, and of Kubernetes' own kinds.
func GroupsOf(catalog *kind.Catalog) func(kind string) []string {
	return func(word string) []string {
		list := slices.Clone(KindGroups(word))
		for _, k := range catalog.All() {
			if k.Kind.String() == word && !slices.Contains(list, k.Group()) {
				list = append(list, k.Group())
			}
		}
		return list
	}
}

// CheckGrant refuses a grant that names a kind without its group if no group of it is known: it would let nobody do
// anything.
func CheckGrant(g ledger.Grant, groups func(kind string) []string) error {
	for _, word := range g.Kinds {
		if word != "*" && !strings.Contains(word, ".") && len(groups(word)) == 0 {
			return &ledger.Error{Code: ledger.Invalid, Object: "Grant " + g.Name, Field: "kinds",
				Message: word + " is not a kind that is known without its group", Fix: "write it as " + word + ".GROUP"}
		}
	}
	return nil
}
