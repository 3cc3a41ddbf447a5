package gateway

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
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

// newSharedCookies makes the findings about rules that keep sessions by a cookie, where other rules overwrite it.
func newSharedCookies(
	routes *flow.Collection[model.ObjectRef, atBrowsers],
) *flow.Collection[model.ObjectRef, []model.Finding] {
	users := flow.Group(routes, "routes by cookie",
		func(_ model.ObjectRef, b atBrowsers) []cookieKey { return cookiesOf(b) }, flow.ByKey)
	return byRoute(flow.Derive(users, "shared cookies", findShared), "cookies")
}

// cookiesOf are the cookies of a route's rules at all hosts where it serves.
func cookiesOf(b atBrowsers) (keys []cookieKey) {
	seen := map[cookieKey]bool{}
	for _, s := range b.Sessions {
		for i, host := range b.Hosts {
			if k := (cookieKey{b.Gateways[i], host, s.Name, s.Path}); !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// cookieUser is a rule that keeps sessions by a cookie.
type cookieUser struct {
	route model.ObjectRef
	ruleSession
}

func (u cookieUser) rule() model.RuleKey { return model.RuleKey{Route: u.route, Name: u.Rule} }

// findShared tells each rule of the first other one that overwrites the cookie.
func findShared(
	_ *flow.Ctx, k cookieKey, routes flow.Members[model.ObjectRef, atBrowsers],
	emit func(spoiled[cookieKey], []model.Finding),
) {
	var users []cookieUser
	for ref, b := range routes.All() {
		for _, s := range b.Sessions {
			if s.Name == k.Name && s.Path == k.Path {
				users = append(users, cookieUser{ref, s})
			}
		}
	}
	// The first, and the first that leads elsewhere: each other one differs from one of the two, or none does.
	other := slices.IndexFunc(users, func(u cookieUser) bool { return u.To != users[0].To && u.rule() != users[0].rule() })
	if other < 0 {
		return
	}
	found := map[model.ObjectRef][]model.Finding{}
	for _, u := range users {
		for _, by := range []cookieUser{users[0], users[other]} {
			if u.To != by.To && u.rule() != by.rule() {
				found[u.route] = append(found[u.route], u.finding(k, by))
				break
			}
		}
	}
	for ref := range routes.All() {
		if len(found[ref]) > 0 {
			emit(spoiled[cookieKey]{k, ref}, found[ref])
		}
	}
}

func (u cookieUser) finding(k cookieKey, other cookieUser) model.Finding {
	by := strings.TrimSuffix(other.Field, ".sessionPersistence")
	if other.route != u.route {
		by += " of " + other.route.String()
	}
	return model.Finding{
		Object: u.route, Section: u.Rule, Severity: model.Warning, Field: u.Field,
		Message: fmt.Sprintf("cookie %q with path %s keeps sessions of %s, too, which has other backends, so clients lose "+
			"their sessions when they change between the two; state another cookie.name, or none", k.Name, k.Path, by),
	}
}
