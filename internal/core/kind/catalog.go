package kind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// Catalog is all kinds that a program reads.
type Catalog struct {
	list   []*Kind
	byKind map[model.Kind]*Kind
	order  map[model.Kind]int // how many kinds are to be judged before, one after the other
}

// NewCatalog makes a catalog of kinds, those that users ask for most first. It panics if a kind comes twice or has no
// version: both are mistakes of who wrote a declaration.
func NewCatalog(kinds ...*Kind) *Catalog {
	c := &Catalog{list: kinds, byKind: map[model.Kind]*Kind{}, order: map[model.Kind]int{}}
	for _, k := range kinds {
		if c.byKind[k.Kind] != nil || len(k.Versions) == 0 || k.Plural == "" {
			panic(fmt.Sprintf("kind: the declaration of %s of group %q comes twice, or has no version or plural", k, k.Group()))
		}
		c.byKind[k.Kind] = k
	}
	for _, k := range kinds {
		for first := c.byKind[k.ReadAfter]; first != nil; first = c.byKind[first.ReadAfter] {
			c.order[k.Kind]++
		}
	}
	return c
}

// NamesOnDemand tells whether objects of a kind may name what is read on demand.
func (c *Catalog) NamesOnDemand(k model.Kind) bool {
	declared := c.byKind[k]
	return declared != nil && slices.ContainsFunc(declared.RefersTo, func(to model.Kind) bool {
		named := c.byKind[to]
		return named != nil && named.ReadScope == OnDemand
	})
}

// ByNaming orders objects that name others after those that are named (Kind.ReadAfter), so that what arrives together
// can go in at once.
func (c *Catalog) ByNaming(a, b model.ObjectRef) int {
	return cmp.Or(c.order[a.Kind()]-c.order[b.Kind()], a.Compare(b))
}

// All lists the kinds.
func (c *Catalog) All() []*Kind { return c.list }

// FindKind is the declaration of a kind; nil if nobody declared it.
func (c *Catalog) FindKind(k model.Kind) *Kind { return c.byKind[k] }

// FindByName finds the kind that a user means: by its plural, its singular or a short name, in any case, and with or
// without its group ("gateways.gateway.networking.k8s.io"). Without a group, the first of several kinds of one name is
// meant.
func (c *Catalog) FindByName(word string) (k *Kind, found bool) {
	word, group, grouped := strings.Cut(strings.ToLower(word), ".")
	i := slices.IndexFunc(c.list, func(k *Kind) bool {
		return (!grouped || group == k.Group()) &&
			(word == k.Plural || word == strings.ToLower(k.String()) || slices.Contains(k.Short, word))
	})
	if i < 0 {
		return nil, false
	}
	return c.list[i], true
}

// ShortestName is the shortest word by which FindByName finds a kind: its plural, with the group if that is another
// one's plural, too.
func (c *Catalog) ShortestName(k *Kind) string {
	if first, _ := c.FindByName(k.Plural); first != k {
		return k.ResourceName()
	}
	return k.Plural
}

// ListReferences lists what an object names; nil for a kind that nobody declared.
func (c *Catalog) ListReferences(from model.ObjectRef, spec any) []Reference {
	if k := c.FindKind(from.Kind()); k != nil {
		return k.ListReferences(from, spec)
	}
	return nil
}
