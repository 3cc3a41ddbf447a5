package budget

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

var update = flag.Bool("update", false, "rewrite what the stories expect; inspect the diff")

// TestStories runs each file of testdata: commands, and below each what comes of it, after two spaces.
//
//	limits [rule=N] [namespace=N] [gateway=N]   begins anew with budgets: routes, and after a / expressions
//	put NAME PLACE...: RULE | RULE...           writes a route; a new one is younger than all others
//	drop NAME                                   deletes a route
//	routes                                      each route and what is left of its rules
//	copies LISTENER HOST                        the copies of wider rules in a host that are not whole
//	says NAME                                   the findings of a route
//	counted                                     which collections of budgets ran because of the last edit
//
// A NAME is namespace/name; that of a GRPCRoute begins with "grpc:". A PLACE is GATEWAY/LISTENER=HOST,...; a RULE is
// some matches: a prefix /a, an exact path =/a, an expression ~/a, a method Service/Method of gRPC. /a*3 is
// /a/1 /a/2 /a/3.
func TestStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := (&storyRunner{t: t}).runStory(string(text)); got != string(text) {
				if !*update {
					t.Fatalf("%s:\n%s\nwant:\n%s", path, got, text)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// storyRunner runs a story.
type storyRunner struct {
	t       *testing.T
	limits  model.Budgets
	graph   *flow.Graph
	drafts  *flow.Source[model.ObjectRef, model.Route]
	routes  *flow.Collection[model.ObjectRef, model.Route]
	reduced *flow.Collection[model.DomainKey, model.DegradedRules]
	made    map[model.ObjectRef]time.Time
	runs    map[string]uint64 // of collections, before the last edit
}

// start makes the graph.
func (w *storyRunner) start() {
	w.graph = flow.New(flow.Config{Name: "test", Check: true})
	w.drafts = flow.NewSource[model.ObjectRef, model.Route](w.graph, "drafts")
	w.routes, w.reduced = New(w.drafts.Collection(), Config{
		Limits: w.limits,
		Age:    func(created time.Time) string { return created.Format(time.RFC3339) },
		Parents: func(c *flow.Ctx, ref model.ObjectRef) (list []Parent) {
			r, _ := flow.Fetch(c, w.drafts.Collection(), ref)
			for _, g := range r.Gateways {
				list = append(list, Parent{model.ParentRef{Kind: "Gateway", Name: g.Ref.Name()}, g.Ref})
			}
			return list
		},
	})
	w.apply(w.drafts.MarkSynced)
}

func (w *storyRunner) apply(edit func(*flow.Batch)) {
	w.runs = w.countRuns()
	w.graph.Apply("test", edit)
	w.graph.Settle()
}

func (w *storyRunner) countRuns() map[string]uint64 {
	runs := map[string]uint64{}
	for _, c := range w.graph.Stats() {
		runs[c.Name] += c.Runs
	}
	return runs
}

// tell returns the story with what came of each command.
func (w *storyRunner) runStory(text string) string {
	var told strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		told.WriteString(line)
		command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if command == "" || strings.HasPrefix(command, "#") {
			continue
		}
		for _, line := range w.run(command, rest) {
			fmt.Fprintf(&told, "  %s\n", line)
		}
	}
	return told.String()
}

func (w *storyRunner) run(command, rest string) (told []string) {
	switch command {
	case "limits":
		w.limits, w.made = model.Budgets{}, map[model.ObjectRef]time.Time{}
		for word := range strings.FieldsSeq(rest) {
			w.limit(word)
		}
		w.start()
	case "put":
		ref, route := w.readRoute(rest)
		w.apply(func(b *flow.Batch) { w.drafts.Set(b, ref, route) })
	case "drop":
		w.apply(func(b *flow.Batch) { w.drafts.Delete(b, refOf(rest)) })
	case "counted":
		for name, runs := range w.countRuns() {
			if runs > w.runs[name] && name != "plan/route" {
				told = append(told, name)
			}
		}
	default:
		w.graph.View(func(v flow.View) { told = w.look(v, command, rest) })
	}
	slices.Sort(told)
	return told
}

func (w *storyRunner) look(v flow.View, command, rest string) (told []string) {
	switch command {
	case "routes":
		for ref, r := range flow.All(v, w.routes) {
			var rules []string
			for _, rule := range r.Rules {
				rules = append(rules, tellRule(rule))
			}
			told = append(told, nameOf(ref)+": "+strings.Join(rules, " | "))
		}
	case "copies":
		listener, host, _ := strings.Cut(rest, " ")
		forms, _ := flow.Get(v, w.reduced, model.DomainKey{Listener: listenerOf(listener), Name: host})
		for rule, form := range forms {
			told = append(told, fmt.Sprintf("%s %s: %s", nameOf(rule.Route), rule.Name, tellForm(form)))
		}
	case "says":
		r, _ := flow.Get(v, w.routes, refOf(rest))
		for _, f := range r.Findings {
			told = append(told, fmt.Sprintf("%s %s%s %s=%s drops=%v: %s", f.Severity, f.Field, f.Parent.Name, f.Condition,
				f.Reason, f.Drops, f.Message))
		}
	default:
		w.t.Fatalf("there is no command %s", command)
	}
	return told
}

// limit reads "rule=5/2".
func (w *storyRunner) limit(word string) {
	name, value, _ := strings.Cut(word, "=")
	routes, expressions, _ := strings.Cut(value, "/")
	size := model.Size{Routes: w.number(routes)}
	if expressions != "" {
		size.Expressions = w.number(expressions)
	}
	*map[string]*model.Size{
		"rule": &w.limits.Rule, "namespace": &w.limits.Namespace, "gateway": &w.limits.Gateway,
	}[name] = size
}

func (w *storyRunner) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func refOf(name string) model.ObjectRef {
	kind := model.KindHTTPRoute
	if rest, is := strings.CutPrefix(name, "grpc:"); is {
		kind, name = model.KindGRPCRoute, rest
	}
	namespace, name, _ := strings.Cut(name, "/")
	return model.Ref(kind, namespace, name)
}

func nameOf(ref model.ObjectRef) string {
	if ref.Kind() == model.KindGRPCRoute {
		return "grpc:" + ref.NamespacedName()
	}
	return ref.NamespacedName()
}

// listenerOf is that of "edge/http".
func listenerOf(name string) model.ListenerKey {
	gateway, section, _ := strings.Cut(name, "/")
	return model.ListenerKey{Parent: model.Ref(model.KindGateway, "infra", gateway), Section: section}
}

// readRoute reads "t/a edge/http=a.ex,b.ex: /a*3 | /b".
func (w *storyRunner) readRoute(text string) (model.ObjectRef, model.Route) {
	head, rules, found := strings.Cut(text, ": ")
	if !found {
		w.t.Fatalf("%s: there are no rules", text)
	}
	words := strings.Fields(head)
	ref := refOf(words[0])
	if w.made[ref].IsZero() {
		w.made[ref] = time.Date(2026, 1, 1, len(w.made), 0, 0, 0, time.UTC)
	}
	r := model.Route{Created: w.made[ref]}
	for _, place := range words[1:] {
		listener, hosts, _ := strings.Cut(place, "=")
		l := model.RouteListener{Listener: listenerOf(listener), Gateway: listenerOf(listener).Parent}
		for host := range strings.SplitSeq(hosts, ",") {
			l.Domains = append(l.Domains, model.Domain{Name: host, Original: host})
		}
		r.Listeners = append(r.Listeners, l)
		if g := (model.RouteGateway{Ref: l.Gateway}); !slices.Contains(r.Gateways, g) {
			r.Gateways = append(r.Gateways, g)
		}
	}
	for i, text := range strings.Split(rules, " | ") {
		rule := model.Rule{Key: model.RuleKey{Route: ref, Name: fmt.Sprint("r", i)}, Index: i}
		for word := range strings.FieldsSeq(text) {
			rule.Matches = append(rule.Matches, w.readMatches(word)...)
		}
		r.Rules = append(r.Rules, rule)
	}
	return ref, r
}

func (w *storyRunner) readMatches(word string) (list []model.Match) {
	if path, times, several := strings.Cut(word, "*"); several && times != "" {
		for i := range w.number(times) {
			list = append(list, w.readMatches(fmt.Sprintf("%s/%d", path, i+1))...)
		}
		return list
	}
	switch word[0] {
	case '=':
		return []model.Match{{Path: model.PathMatch{Type: model.PathExact, Value: word[1:]}}}
	case '~':
		return []model.Match{{Path: model.PathMatch{Type: model.PathRegex, Value: word[1:]}}}
	case '/':
		return []model.Match{{Path: model.PathMatch{Type: model.PathPrefix, Value: word}}}
	}
	service, method, _ := strings.Cut(word, "/")
	return []model.Match{{GRPC: &model.GRPCMatch{Service: service, Method: method}}}
}

// tellRule is the number of matches of a rule that is whole; of another one, what it takes, and what answers that.
func tellRule(r model.Rule) string {
	if r.Error == 0 {
		return fmt.Sprintf("%d whole", len(r.Matches))
	}
	words := []string{}
	for _, m := range r.Matches {
		if m.GRPC != nil {
			words = append(words, fmt.Sprintf("service %q method %q", m.GRPC.Service, m.GRPC.Method))
			continue
		}
		words = append(words, string(m.Path.Type)+" "+m.Path.Value)
	}
	if len(words) == 0 {
		words = []string{"nothing"}
	}
	return fmt.Sprintf("%s gets %d", strings.Join(words, ", "), r.Error)
}

func tellForm(form model.Degradation) string {
	return map[model.Degradation]string{
		model.NotDegraded: "whole", model.DegradedNoRegex: "no expressions", model.DegradedPrefix: "one prefix",
		model.DegradedNoRequests: "nothing",
	}[form]
}
