package shadow

import (
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/precedence"
)

// shadowRig has routes of one rule at one host each.
type shadowRig struct {
	g      *flow.Graph
	routes *flow.Source[model.ObjectRef, model.Route]
	found  *flow.Collection[model.ObjectRef, []model.Finding]
}

func newShadowRig() shadowRig {
	g := flow.New(flow.Config{Name: "test", Check: true})
	r := shadowRig{g: g, routes: flow.NewSource[model.ObjectRef, model.Route](g, "routes")}
	all := flow.Derive(r.routes.Collection(), "sites", emitEntry)
	r.found = NewFindings(plan.Plan{Routes: r.routes.Collection(), RouteEntries: all,
		Domains: plan.GroupByDomain(all)})
	g.Apply("start", func(b *flow.Batch) { r.routes.MarkSynced(b) })
	g.Settle()
	return r
}

// emitEntry makes the site of a route of the rig.
func emitEntry(
	_ *flow.Ctx, ref model.ObjectRef, r model.Route, emit func(model.RouteEntryKey, model.RouteEntry),
) {
	at, rule := r.Listeners[0], r.Rules[0]
	domain, match := at.Domains[0], &rule.Matches[0]
	emit(model.RouteEntryKey{Rule: rule.Key, Listener: at.Listener, Domain: domain.Name}, model.RouteEntry{
		Order: precedence.EntryOrder(domain.Original, precedence.MatchOrder(*match), precedence.AgeOrder(r.Created), ref, 0,
			0),
		Match: match,
	})
}

// set makes one edit, and tells how often domains were looked at for it.
func (r shadowRig) set(name, host, path string, status int) (runs uint64) {
	before := r.runs()
	ref := model.Ref(model.KindHTTPRoute, "shop", name)
	r.g.Apply("edit", func(b *flow.Batch) {
		r.routes.Set(b, ref, model.Route{
			Listeners: []model.RouteListener{{
				Listener: model.ListenerKey{Section: "http"}, Domains: []model.Domain{{Name: host, Original: host}},
			}},
			Rules: []model.Rule{{
				Key:     model.RuleKey{Route: ref, Name: "rule"},
				Matches: []model.Match{{Path: model.PathMatch{Type: model.PathPrefix, Value: path}}},
				Error:   status,
			}},
		})
	})
	r.g.Settle()
	return r.runs() - before
}

func (r shadowRig) runs() (n uint64) {
	for _, c := range r.g.Stats() {
		if strings.HasPrefix(c.Name, "shadow") {
			n += c.Runs
		}
	}
	return n
}

func (r shadowRig) message(name string) (text string) {
	r.g.View(func(v flow.View) {
		list, _ := flow.Get(v, r.found, model.Ref(model.KindHTTPRoute, "shop", name))
		for _, f := range list {
			text += f.Describe()
		}
	})
	return text
}

// TestShadowsFollowEdits: what a rule is told comes and goes with the rule that hides it, and an edit that moves no
// match looks at no domain.
func TestShadowsFollowEdits(t *testing.T) {
	r := newShadowRig()
	for i := range 20 {
		r.set(fmt.Sprintf("other%d", i), fmt.Sprintf("other%d.example", i), "/", 0)
	}
	r.set("first", "shop.example", "/", 0)
	r.set("second", "shop.example", "/api", 0)
	if said := r.message("second"); said != "" {
		t.Errorf("a longer path is told: %s", said)
	}
	r.set("second", "shop.example", "/", 0)
	if said := r.message("second"); !strings.Contains(said, "rules[0] of HTTPRoute shop/first, which has the same host") ||
		!strings.Contains(said, "the name of its route comes later") {
		t.Errorf("the same path is told: %q", said)
	}
	if runs := r.set("first", "shop.example", "/", 500); runs != 0 {
		t.Errorf("an edit beside the matches runs %d transforms", runs)
	}
	if runs := r.set("other3", "other3.example", "/new", 500); runs != 1 {
		t.Errorf("an edit of a match looks at %d domains", runs)
	}
	r.set("first", "other.example", "/", 0)
	if said := r.message("second"); said != "" {
		t.Errorf("when the other has gone it is told: %s", said)
	}
}

// TestShadowsAmongMany: a host with thousands of rules on one path is compared with few of them.
func TestShadowsAmongMany(t *testing.T) {
	earlier := earlierEntries{}
	for i := range 5000 {
		k := model.RouteEntryKey{Rule: model.RuleKey{Name: fmt.Sprint(i)}}
		s := model.RouteEntry{Match: &model.Match{Headers: []model.ValueMatch{{Name: "x", Value: fmt.Sprint(i)}}}}
		if _, found := earlier.findCovering(k, s); found {
			t.Fatalf("rule %d is covered by another value", i)
		}
		earlier.addEntry(k, s)
	}
	if n := len(earlier[""]); n != maxCompared {
		t.Errorf("a site is compared with %d others", n)
	}
}
