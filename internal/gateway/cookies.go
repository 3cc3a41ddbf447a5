package gateway

import (
	"cmp"
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// A cookie that keeps a session has an endpoint of its rule's backends. Rules with other backends that state the same
// cookie overwrite it, so clients lose their sessions at each change between them. It works as written, and nobody
// knows which of the rules is meant otherwise: so these are warnings.

// cookieKey names a cookie as a browser keeps it.
type cookieKey struct {
	Gateway    model.ObjectRef
	Host       string // a domain of listeners, or model.Every
	Name, Path string
}

// sharedKey names what one cookie says of one route.
type sharedKey struct {
	Cookie cookieKey
	Route  model.ObjectRef
}

// Owner is the cookie.
func (k sharedKey) Owner() cookieKey { return k.Cookie }

// newSharedCookies makes the findings about rules whose sessions' cookies other rules overwrite.
func newSharedCookies(p plan.Plan) *flow.Collection[model.ObjectRef, []model.Finding] {
	users := flow.Group(p.Routes, "routes by cookie",
		func(_ model.ObjectRef, r model.Route) []cookieKey { return cookiesOf(r) }, flow.ByKey)
	shared := flow.Derive(users, "shared cookies", findShared)
	routes := flow.Group(shared, "shared cookies by route",
		func(k sharedKey, _ []model.Finding) []model.ObjectRef { return []model.ObjectRef{k.Route} }, flow.ByKey)
	return flow.Map(routes, "cookies",
		func(_ *flow.Ctx, _ model.ObjectRef, own flow.Members[sharedKey, []model.Finding]) (list []model.Finding, _ bool) {
			for _, found := range own.All() {
				for _, f := range found { // each host tells the same
					if !slices.ContainsFunc(list, func(o model.Finding) bool { return o.Field == f.Field }) {
						list = append(list, f)
					}
				}
			}
			return list, true
		})
}

// cookiesOf are the cookies of a route's rules at all hosts where it serves.
func cookiesOf(r model.Route) (keys []cookieKey) {
	for _, rule := range r.Rules {
		if rule.Session == nil || rule.Session.Header != "" {
			continue
		}
		for _, place := range r.Places {
			for _, domain := range place.Domains {
				k := cookieKey{place.Gateway, domain.Name, rule.Session.Cookie, rule.Session.Path}
				if !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
	}
	return keys
}

// cookieUser is a rule that keeps its sessions by a cookie.
type cookieUser struct {
	route model.ObjectRef
	rule  model.Rule
}

// findShared tells each rule of the first other one that overwrites the cookie.
func findShared(
	_ *flow.Ctx, k cookieKey, routes flow.Members[model.ObjectRef, model.Route], emit func(sharedKey, []model.Finding),
) {
	var users []cookieUser
	for ref, r := range routes.All() {
		for _, rule := range r.Rules {
			if s := rule.Session; s != nil && s.Header == "" && s.Cookie == k.Name && s.Path == k.Path {
				users = append(users, cookieUser{ref, rule})
			}
		}
	}
	found := map[model.ObjectRef][]model.Finding{}
	for _, u := range users {
		own := destinations(u.rule)
		i := slices.IndexFunc(users, func(o cookieUser) bool { return !slices.Equal(own, destinations(o.rule)) })
		if i >= 0 {
			found[u.route] = append(found[u.route], u.finding(k, users[i]))
		}
	}
	for ref := range routes.All() {
		if len(found[ref]) > 0 {
			emit(sharedKey{k, ref}, found[ref])
		}
	}
}

func (u cookieUser) finding(k cookieKey, other cookieUser) model.Finding {
	by := other.rule.Field()
	if other.route != u.route {
		by += " of " + other.route.String()
	}
	return model.Finding{
		Object: u.route, Section: u.rule.Key.Name, Severity: model.Warning, Field: u.rule.Field() + ".sessionPersistence",
		Message: fmt.Sprintf("cookie %q with path %s keeps sessions of %s, too, which has other backends, so clients lose "+
			"their sessions when they change between the two; state another cookie.name, or none", k.Name, k.Path, by),
	}
}

// destinations are the backends that a rule can send a client to.
func destinations(r model.Rule) (keys []string) {
	for _, b := range r.Backends {
		if key := fmt.Sprint(b.Backend); b.Weight > 0 && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
