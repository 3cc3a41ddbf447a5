package gateway

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// atBrowsers is what a route needs browsers for: they keep cookies of sessions, and ask by preflights. Rules of other
// routes may break that (cookies.go, preflights.go). Most edits of a route do not change it, and most routes have none.
type atBrowsers struct {
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
	At []corsAt // where another one is stated for listeners
}

type corsAt struct {
	Listener model.ListenerKey
	statedCORS
}

// statedCORS is CORS that is stated; else that of the listener holds.
type statedCORS struct {
	CORS   encodedCORS
	Stated bool
}

// encodedCORS is CORS as it is rendered, for comparison; "": none holds.
type encodedCORS string

// concernsBrowsers tells whether a rule has browsers do something: it keeps sessions by cookies, has a CORS filter, or
// a match that does not take the preflights of its requests.
func concernsBrowsers(r model.Rule) bool {
	return len(sessionsOf(r)) > 0 || r.CORSFilter() != nil || r.HasPreflights()
}

// newAtBrowsers finds it. Nothing of it runs for a route that has none.
func newAtBrowsers(p plan.Plan) *flow.Collection[model.ObjectRef, atBrowsers] {
	concerned := flow.Group(p.Sites, "routes of browsers", func(k model.SiteKey, s model.Site) []model.ObjectRef {
		if !s.Browsers {
			return nil
		}
		return []model.ObjectRef{k.Rule.Route}
	}, flow.ByKey)
	return flow.Map(concerned, "route/browsers", func(
		c *flow.Ctx, ref model.ObjectRef, _ flow.Members[model.SiteKey, model.Site],
	) (atBrowsers, bool) {
		r, _ := flow.Fetch(c, p.Routes, ref)
		b := atBrowsers{CORS: corsOfRules(r.Rules, fetched(c, p.Settings.Routes, ref))}
		for _, rule := range r.Rules {
			b.Sessions = append(b.Sessions, sessionsOf(rule)...)
		}
		for _, place := range r.Places {
			for _, domain := range place.Domains {
				if len(b.Sessions) > 0 {
					b.Gateways, b.Hosts = append(b.Gateways, place.Gateway), append(b.Hosts, domain.Name)
				}
			}
		}
		return b, true
	})
}

func fetched[K comparable, V any](c *flow.Ctx, from *flow.Collection[K, V], k K) (v V) {
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
		add(r.Session, r.Field()+".sessionPersistence", all)
		return list
	}
	for i, b := range r.Backends {
		if b.Weight > 0 && b.Session != nil {
			add(b.Session, fmt.Sprintf("%s.backendRefs[%d]", r.Field(), i), []string{fmt.Sprint(b.Backend)})
		}
	}
	return list
}

// corsOfRules is what is stated about CORS for rules of a route: by policies for a rule, its filters, policies for the
// route.
func corsOfRules(rules []model.Rule, in plan.RouteSettings) (list []ruleCORS) {
	everywhere := corsByRule(in.Rules)
	var there []map[model.RuleKey]encodedCORS // at the listeners of in.At
	for _, at := range in.At {
		there = append(there, corsByRule(at.Rules))
	}
	ofRoute, byRoute := corsOf(in.Own)
	for _, rule := range rules {
		nearest := func(rules map[model.RuleKey]encodedCORS) statedCORS {
			if cors, stated := rules[rule.Key]; stated {
				return statedCORS{cors, true}
			}
			if filter := rule.CORSFilter(); filter != nil {
				return statedCORS{encodedCORS(extend.EncodeCORS(*filter)), true}
			}
			return statedCORS{ofRoute, byRoute}
		}
		own := ruleCORS{
			Rule: rule.Key.Name, Answers: rule.Error != 0 || rule.Redirect != nil || rule.Answers,
			statedCORS: nearest(everywhere),
		}
		for i, at := range in.At {
			if cors := nearest(there[i]); cors != own.statedCORS {
				own.At = append(own.At, corsAt{at.Listener, cors})
			}
		}
		if own.Stated || own.Answers || own.At != nil {
			list = append(list, own)
		}
	}
	return list
}

func corsByRule(rules []plan.RuleSettings) map[model.RuleKey]encodedCORS {
	by := map[model.RuleKey]encodedCORS{}
	for _, own := range rules {
		if cors, stated := corsOf(own.Own); stated {
			by[own.Rule] = cors
		}
	}
	return by
}

// corsOf is what settings of a level state for CORS.
func corsOf(settings []plan.Setting) (cors encodedCORS, stated bool) {
	for _, s := range settings {
		if s.Slot == string(extend.SlotCORS) {
			cors, stated = encodedCORS(s.Config.Value), true
		}
	}
	return cors, stated
}

// spoiled names what one place where rules meet says of one route.
type spoiled[P comparable] struct {
	Place P
	Route model.ObjectRef
}

// Owner is the place.
func (k spoiled[P]) Owner() P { return k.Place }

// byRoute gathers findings by route. Several places may find the same: it keeps one finding for each field.
func byRoute[P comparable](
	found *flow.Collection[spoiled[P], []model.Finding], name string,
) *flow.Collection[model.ObjectRef, []model.Finding] {
	routes := flow.Group(found, name+" by route",
		func(k spoiled[P], _ []model.Finding) []model.ObjectRef { return []model.ObjectRef{k.Route} }, flow.ByKey)
	return flow.Map(routes, name, func(
		_ *flow.Ctx, _ model.ObjectRef, own flow.Members[spoiled[P], []model.Finding],
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
