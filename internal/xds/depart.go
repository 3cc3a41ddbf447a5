package xds

import (
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/resource"
)

// usersFirst are the types, each before those that it names.
var usersFirst = []resource.Type{resource.Listener, resource.Routes, resource.Cluster, resource.Endpoints, resource.Secret}

// depart drops what left the graph. What is named by what proxies accepted of others stays as it was, as long as that may be kept because its new
// version is refused: proxies that join need it, too.
func (s *set) depart() {
	if len(s.left) == 0 || !s.stirred {
		return
	}
	defer func() { s.stirred = false }() // what departs here names only what is looked at later
	leaving := slices.SortedFunc(maps.Keys(s.left), func(a, b *entry) int { return strings.Compare(a.name.Name, b.name.Name) })
	for _, t := range usersFirst {
		var kept map[resource.Name]bool
		for _, e := range leaving {
			if e.name.Type != t {
				continue
			}
			if kept == nil {
				kept = s.keptNames()
			}
			if kept[e.name] {
				s.note(e)
			} else {
				s.drop(e)
			}
		}
	}
}

// keptNames are named by what proxies are offered, accepted last or may be about to accept, and not by what the graph says.
func (s *set) keptNames() map[resource.Name]bool {
	names := map[resource.Name]bool{}
	add := func(now, offered []*resource.Part) {
		for c := range diff(now, offered) {
			if c.new != nil {
				for _, n := range c.new.Needs {
					names[n] = true
				}
			}
		}
	}
	for e := range s.apart {
		if _, leaves := s.left[e]; !leaves {
			add(e.current.parts(), e.offer.parts())
		}
	}
	for e := range s.unconfirmed {
		if _, leaves := s.left[e]; leaves {
			continue
		}
		add(e.current.parts(), e.confirmed.parts())
		for st := range s.streams {
			it := st.items[e.name.Type][e.name.Name]
			if it == nil {
				continue
			}
			for _, v := range append([]*version{it.has}, it.sent...) {
				if v != nil && v != e.current && v != e.confirmed {
					add(e.current.parts(), v.parts())
				}
			}
		}
	}
	for e := range s.left {
		add(nil, e.offer.parts())
	}
	return names
}

// note tells those who ask what is offered of a resource in place of what the graph says.
func (s *set) note(e *entry) {
	_, left := s.left[e]
	s.offers.note(e, e.offer != e.current || left)
}
