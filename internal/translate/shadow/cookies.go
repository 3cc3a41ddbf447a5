package shadow

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
	Host       string // a domain of listeners, or model.EveryHost
	Name, Path string
}

// NewSharedCookies makes the findings about rules that keep sessions by a cookie, where other rules overwrite it.
func NewSharedCookies(
	routes *flow.Collection[model.ObjectRef, browserNeeds],
) *flow.Collection[model.ObjectRef, []model.Finding] {
	users := flow.Group(routes, "routes by cookie",
		func(_ model.ObjectRef, b browserNeeds) []cookieKey { return cookiesOf(b) }, flow.ByKey)
	return groupByRoute(flow.Derive(users, "shared cookies", findSharedCookies), "cookies")
}

// cookiesOf are the cookies of a route's rules at all hosts where it serves.
func cookiesOf(b browserNeeds) (keys []cookieKey) {
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

func (u cookieUser) ruleKey() model.RuleKey { return model.RuleKey{Route: u.route, Name: u.Rule} }

// findSharedCookies tells each rule of the first other one that overwrites the cookie.
func findSharedCookies(
	_ *flow.Ctx, k cookieKey, routes flow.Members[model.ObjectRef, browserNeeds],
	emit func(conflictKey[cookieKey], []model.Finding),
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
	other := slices.IndexFunc(users, func(u cookieUser) bool {
		return u.To != users[0].To &&
			u.ruleKey() != users[0].ruleKey()
	})
	if other < 0 {
		return
	}
	found := map[model.ObjectRef][]model.Finding{}
	for _, u := range users {
		for _, by := range []cookieUser{users[0], users[other]} {
			if u.To != by.To && u.ruleKey() != by.ruleKey() {
				found[u.route] = append(found[u.route], u.sharedFinding(k, by))
				break
			}
		}
	}
	for ref := range routes.All() {
		if len(found[ref]) > 0 {
			emit(conflictKey[cookieKey]{k, ref}, found[ref])
		}
	}
}

func (u cookieUser) sharedFinding(k cookieKey, other cookieUser) model.Finding {
	by := strings.TrimSuffix(other.Field, ".sessionPersistence")
	if other.route != u.route {
		by += " of " + other.route.String()
	}
	return model.Finding{
		Object: u.route, Section: u.Rule, Severity: model.Warning, Field: u.Field,
		Message: fmt.Sprintf("cookie %q with path %s is also used by %s, which has other backends, so a client that uses "+
			"both loses its sessions; state another cookie.name, or none", k.Name, k.Path, by),
	}
}
