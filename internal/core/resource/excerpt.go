package resource

import (
	"maps"
	"slices"

	"cardea.dev/cardea/internal/core/model"
)

// Excerpt is what of a Gateway's configuration decides about some requests: resources, and of route tables those
// domains that could take one of them. Its parts are shared and never change, so it outlives the View that it was taken
// from.
type Excerpt struct {
	Types   AllTypes
	Offered map[Name][]*Part // what proxies have or are about to get
	// Withheld is named by something that is offered, and is not offered itself, as proxies refused it. It tells what a
	// name stands for.
	Withheld map[Name][]*Part
}

// NewExcerpt makes an empty one, of resources of a dialect's types.
func NewExcerpt(types AllTypes) *Excerpt {
	return &Excerpt{Types: types, Offered: map[Name][]*Part{}, Withheld: map[Name][]*Part{}}
}

// Equal tells whether two excerpts hold the same parts. Either may be nil, which is equal to nil only.
func (e *Excerpt) Equal(o *Excerpt) bool {
	if e == nil || o == nil {
		return e == o
	}
	return maps.EqualFunc(e.Offered, o.Offered, slices.Equal) && maps.EqualFunc(e.Withheld, o.Withheld, slices.Equal)
}

// DomainPartIDs are the IDs of the parts of a route table that could take a request to one of the hosts, in order:
// domains, and "" for what all share.
func DomainPartIDs(hosts ...string) []string {
	ids := []string{""}
	for _, host := range hosts {
		ids = append(append(ids, host), model.WiderDomains(host, "")...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// AddResource adds a resource and all that it needs, as get finds them, offered or not; of route tables the parts that
// are among takers.
func (e *Excerpt) AddResource(name Name, takers []string, get func(Name) (r Resource, offered bool)) {
	if _, known := e.Offered[name]; known {
		return
	}
	r, offered := get(name)
	if !offered {
		if len(r.Parts) > 0 {
			e.Withheld[name] = r.Parts
		}
		return
	}
	parts := r.Parts
	if e.Types.Has(name.Type, Routing) {
		parts = SelectParts(parts, takers)
	}
	e.Offered[name] = parts
	for _, p := range parts {
		for _, needed := range p.Needs {
			e.AddResource(needed, takers, get)
		}
	}
}

// SelectParts lists the parts that have one of the IDs. Both are in order of the IDs.
func SelectParts(parts []*Part, ids []string) (list []*Part) {
	for _, id := range ids {
		if p := FindPart(parts, id); p != nil {
			list = append(list, p)
		}
	}
	return list
}
