package world

import (
	"slices"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/simulate"
)

// Excerpt is what of a Gateway's configuration decides about some requests: resources, and of route tables those
// virtual hosts that could take one of them. Its values are shared and never change, so it outlives the View that it
// was taken from.
type Excerpt map[resource.Name][]*resource.Part

// Takers are the IDs of the parts of a route table that could take a request to one of the hosts, in order: domains,
// and "" for what all share.
func Takers(hosts ...string) []string {
	ids := []string{""}
	for _, host := range hosts {
		ids = append(append(ids, host), model.Wider(host, "")...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Take adds a resource and all that it needs, as get finds them; of route tables the parts that are among takers.
func (e Excerpt) Take(name resource.Name, takers []string, get func(resource.Name) (resource.Resource, bool)) {
	if _, known := e[name]; known {
		return
	}
	r, found := get(name)
	if !found {
		return
	}
	parts := r.Parts
	if name.Type == resource.Routes {
		parts = Among(parts, takers)
	}
	e[name] = parts
	for _, p := range parts {
		for _, needed := range p.Needs {
			e.Take(needed, takers, get)
		}
	}
}

// Among are the parts that have one of the IDs. Both are in order of the IDs.
func Among(parts []*resource.Part, ids []string) (list []*resource.Part) {
	for _, id := range ids {
		if p := resource.Find(parts, id); p != nil {
			list = append(list, p)
		}
	}
	return list
}

// Config is the excerpt, ready to be asked. It takes time: no View should be open.
func (e Excerpt) Config() (*simulate.Config, error) {
	c := simulate.New()
	for name, parts := range e {
		if err := c.Add(name.Type, name.Name, resource.Resource{Parts: parts}.Flatten(nil)); err != nil {
			return nil, err
		}
	}
	return c, nil
}
