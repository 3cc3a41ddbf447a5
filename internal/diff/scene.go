package diff

import (
	"slices"
	"strings"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/simulate"
)

// scene is what of a Gateway's configuration decides about requests to the virtual hosts and listeners that differ: all listeners, of each table
// the virtual hosts that could take such a request, and what those name. Its values are shared and never change, so it outlives the View.
type scene struct {
	gateway       model.ObjectRef
	tables        []changedTable
	listeners     []changedListener
	before, after map[resource.Name][]*resource.Part
}

// scenes are those of the Gateways whose tables or listeners differ, in the order of these.
func (d *Differ) scenes(v flow.View, tables []changedTable, listeners []changedListener) (list []*scene) {
	of := map[model.ObjectRef]*scene{}
	at := func(gateway model.ObjectRef) *scene {
		if of[gateway] == nil {
			of[gateway] = &scene{gateway: gateway, before: map[resource.Name][]*resource.Part{}, after: map[resource.Name][]*resource.Part{}}
			list = append(list, of[gateway])
		}
		return of[gateway]
	}
	for _, t := range tables {
		s := at(t.key.Gateway)
		s.tables = append(s.tables, t)
	}
	for _, l := range listeners {
		s := at(l.key.Gateway)
		s.listeners = append(s.listeners, l)
	}
	if len(list) == 0 {
		return nil
	}
	for _, t := range []resource.Type{resource.Listener, resource.Routes} {
		add := func(key resource.Key) {
			s := of[key.Gateway]
			if s == nil {
				return
			}
			name := resource.Name{Type: key.Type, Name: key.Name}
			d.gather(s, s.before, name, func(k resource.Key) (resource.Resource, bool) { return flow.Before(v, d.world.Outputs.Of(k.Type), k) })
			d.gather(s, s.after, name, func(k resource.Key) (resource.Resource, bool) { return flow.Get(v, d.world.Outputs.Of(k.Type), k) })
		}
		for key := range flow.All(v, d.world.Outputs.Of(t)) {
			add(key)
		}
		for change := range flow.Staged(v, d.world.Outputs.Of(t)) {
			if change.Deleted {
				add(change.Key)
			}
		}
	}
	return list
}

// gather adds a resource and all that it needs.
func (d *Differ) gather(s *scene, to map[resource.Name][]*resource.Part, name resource.Name, get func(resource.Key) (resource.Resource, bool)) {
	if _, known := to[name]; known {
		return
	}
	r, found := get(resource.Key{Gateway: s.gateway, Type: name.Type, Name: name.Name})
	if !found {
		return
	}
	parts := r.Parts
	if name.Type == resource.Routes {
		parts = s.takers(parts)
	}
	to[name] = parts
	for _, p := range parts {
		for _, needed := range p.Needs {
			d.gather(s, to, needed, get)
		}
	}
}

// takers are the parts of a table that could take a request to a host of a virtual host that differs, and what all share.
func (s *scene) takers(parts []*resource.Part) (list []*resource.Part) {
	wanted := map[string]bool{"": true}
	want := func(host string) {
		wanted[host] = true
		for _, wider := range model.Wider(host, "") {
			wanted[wider] = true
		}
	}
	for _, t := range s.tables {
		for _, domain := range t.domains {
			wanted[domain] = true
			want(simulate.HostOf(domain))
		}
	}
	for _, l := range s.listeners {
		for _, r := range l.witnesses {
			want(r.Host)
		}
	}
	for id := range wanted {
		if i, found := slices.BinarySearchFunc(parts, id, func(p *resource.Part, id string) int { return strings.Compare(p.ID, id) }); found {
			list = append(list, parts[i])
		}
	}
	slices.SortFunc(list, func(a, b *resource.Part) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// config is one of the two configurations, ready to be asked.
func config(parts map[resource.Name][]*resource.Part) (*simulate.Config, error) {
	c := simulate.New()
	for name, list := range parts {
		if err := c.Add(name.Type, name.Name, resource.Resource{Parts: list}.Flatten(nil)); err != nil {
			return nil, err
		}
	}
	return c, nil
}
