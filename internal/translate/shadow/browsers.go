package shadow

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// browserNeeds is what a route needs browsers for: they keep cookies of sessions, and ask by preflights. Rules of other
// routes may break that (cookies.go, preflights.go). Most edits of a route do not change it, and most routes have none.
type browserNeeds struct {
	Gateways []model.ObjectRef // where it serves, and
	Hosts    []string          // at which domains there, in the same order
	Sessions []ruleSession
	CORS     []ruleCORS
}

// ruleSession is a cookie that a rule, or backends of it, keep sessions by.
type ruleSession struct {
	Rule, Field string
	Name, Path  string
	To          string // the backends that it leads to
}

// ruleCORS is what is stated about CORS for a rule, and nearer than for its listener. Rules for which nothing is
// stated, and that go to backends, have none.
type ruleCORS struct {
	Rule    string
	Answers bool // it reaches no backend, so it has no preflights
	statedCORS
	At []listenerCORS // where another one is stated for listeners
}

type listenerCORS struct {
	Listener model.ListenerKey
	statedCORS
}

// statedCORS is CORS that is stated; else that of the listener holds.
type statedCORS struct {
	CORS   *model.CORS // nil: none holds
	Stated bool
}

func (s statedCORS) equal(o statedCORS) bool { return s.Stated == o.Stated && s.CORS.Equal(o.CORS) }

// ConcernsBrowsers tells whether a rule has browsers do something: it keeps sessions by cookies, has a CORS filter, or
// a match that does not take the preflights of its requests.
func ConcernsBrowsers(r model.Rule) bool {
	return len(sessionsOf(r)) > 0 || r.CORSFilter() != nil || r.HasPreflights()
}

// NewBrowserNeeds finds it. Nothing of it runs for a route that has none.
func NewBrowserNeeds(p plan.Plan) *flow.Collection[model.ObjectRef, browserNeeds] {
	concerned := flow.Group(p.RouteEntries, "routes of browsers", func(k model.RouteEntryKey,
		s model.RouteEntry) []model.ObjectRef {
		if !s.Browsers {
			return nil
		}
		return []model.ObjectRef{k.Rule.Route}
	}, flow.ByKey)
	return flow.Map(concerned, "route/browsers", func(
		c *flow.Ctx, ref model.ObjectRef, _ flow.Members[model.RouteEntryKey, model.RouteEntry],
	) (browserNeeds, bool) {
		r, _ := flow.Fetch(c, p.Routes, ref)
		b := browserNeeds{CORS: corsOfRules(r.Rules, fetchOrZero(c, p.Settings.Routes, ref))}
		for _, rule := range r.Rules {
			b.Sessions = append(b.Sessions, sessionsOf(rule)...)
		}
		for _, place := range r.Listeners {
			for _, domain := range place.Domains {
				if len(b.Sessions) > 0 {
					b.Gateways, b.Hosts = append(b.Gateways, place.Gateway), append(b.Hosts, domain.Name)
				}
			}
		}
		return b, true
	})
}

func fetchOrZero[K comparable, V any](c *flow.Ctx, from *flow.Collection[K, V], k K) (v V) {
	if from != nil {
		v, _ = flow.Fetch(c, from, k)
	}
	return v
}

// sessionsOf are the cookies of a rule's sessions. A session of the rule holds for all of its backends.
func sessionsOf(r model.Rule) (list []ruleSession) {
	add := func(s *model.Session, field string, to []string) {
		if s.Header == "" {
			slices.Sort(to)
			list = append(list, ruleSession{
				Rule: r.Key.Name, Field: field, Name: s.Cookie, Path: s.Path, To: strings.Join(slices.Compact(to), " "),
			})
		}
	}
	if r.Session != nil {
		var all []string
		for _, b := range r.Backends {
			if b.Weight > 0 {
				all = append(all, fmt.Sprint(b.Backend))
			}
		}
		add(r.Session, r.FieldPath()+".sessionPersistence", all)
		return list
	}
	for i, b := range r.Backends {
		if b.Weight > 0 && b.Session != nil {
			add(b.Session, fmt.Sprintf("%s.backendRefs[%d]", r.FieldPath(), i), []string{fmt.Sprint(b.Backend)})
		}
	}
	return list
}

// corsOfRules is what is stated about CORS for rules of a route: by policies for a rule, its filters, policies for the
// route.
func corsOfRules(rules []model.Rule, in plan.RouteSettings) (list []ruleCORS) {
	everywhere := corsByRule(in.Rules)
	var there []map[model.RuleKey]*model.CORS // at the listeners of in.At
	for _, at := range in.AtListeners {
		there = append(there, corsByRule(at.Rules))
	}
	ofRoute, byRoute := corsOf(in.Own)
	for _, rule := range rules {
		nearest := func(rules map[model.RuleKey]*model.CORS) statedCORS {
			if cors, stated := rules[rule.Key]; stated {
				return statedCORS{cors, true}
			}
			if filter := rule.CORSFilter(); filter != nil {
				return statedCORS{filter, true}
			}
			return statedCORS{ofRoute, byRoute}
		}
		own := ruleCORS{
			Rule: rule.Key.Name, Answers: rule.Error != 0 || rule.Redirect != nil || rule.PolicyAnswers,
			statedCORS: nearest(everywhere),
		}
		for i, at := range in.AtListeners {
			if cors := nearest(there[i]); !cors.equal(own.statedCORS) {
				own.At = append(own.At, listenerCORS{at.Listener, cors})
			}
		}
		if own.Stated || own.Answers || own.At != nil {
			list = append(list, own)
		}
	}
	return list
}

func corsByRule(rules []plan.RuleSettings) map[model.RuleKey]*model.CORS {
	by := map[model.RuleKey]*model.CORS{}
	for _, own := range rules {
		if cors, stated := corsOf(own.Own); stated {
			by[own.Rule] = cors
		}
	}
	return by
}

// corsOf is what settings of a level state for CORS.
func corsOf(settings []plan.Setting) (cors *model.CORS, stated bool) {
	for _, s := range settings {
		if s.Slot == string(extend.SlotCORS) {
			cors, stated = s.CORS, true
		}
	}
	return cors, stated
}

// conflictKey names what one place where rules meet says of one route.
type conflictKey[P comparable] struct {
	Place P
	Route model.ObjectRef
}

// Owner is the place.
func (k conflictKey[P]) Owner() P { return k.Place }

// groupByRoute gathers findings by route. Several places may find the same: it keeps one finding for each field.
func groupByRoute[P comparable](
	found *flow.Collection[conflictKey[P], []model.Finding], name string,
) *flow.Collection[model.ObjectRef, []model.Finding] {
	routes := flow.Group(found, name+" by route",
		func(k conflictKey[P], _ []model.Finding) []model.ObjectRef { return []model.ObjectRef{k.Route} }, flow.ByKey)
	return flow.Map(routes, name, func(
		_ *flow.Ctx, _ model.ObjectRef, own flow.Members[conflictKey[P], []model.Finding],
	) (list []model.Finding, _ bool) {
		for _, found := range own.All() {
			for _, f := range found {
				if !slices.ContainsFunc(list, func(o model.Finding) bool { return o.Field == f.Field }) {
					list = append(list, f)
				}
			}
		}
		return list, true
	})
}
