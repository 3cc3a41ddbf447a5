package resolve

import (
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// IntersectHostnames intersects a listener's hostname ("" takes every host) with a route's (none: every host), as
// HTTPRouteSpec.hostnames says. The narrower name of a pair that matches is the domain. A domain that several of the
// route's hostnames lead to is listed once, with the most specific of them. Nothing shared: nil.
func IntersectHostnames[S ~string](listener string, route []S) []model.Domain {
	listener = strings.ToLower(model.HostnameDomain(listener))
	if len(route) == 0 {
		return []model.Domain{{Name: listener, Original: model.EveryHost}}
	}
	var shared []model.Domain
	for _, hostname := range route {
		h := strings.ToLower(string(hostname))
		var name string
		switch {
		case model.DomainCovers(listener, h):
			name = h
		case model.DomainCovers(h, listener):
			name = listener
		default:
			continue
		}
		shared = addDomain(shared, model.Domain{Name: name, Original: h})
	}
	return shared
}

func addDomain(list []model.Domain, d model.Domain) []model.Domain {
	for i := range list {
		if list[i].Name == d.Name {
			if model.MoreSpecific(d.Original, list[i].Original) {
				list[i].Original = d.Original
			}
			return list
		}
	}
	return append(list, d)
}
