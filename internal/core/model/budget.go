package model

import "strings"

// Size is what a proxy keeps of rules: routes, and regular expressions that are compiled for them.
type Size struct{ Routes, Expressions int }

// Plus is both together.
func (s Size) Plus(other Size) Size {
	return Size{s.Routes + other.Routes, s.Expressions + other.Expressions}
}

// Times is n of them.
func (s Size) Times(n int) Size { return Size{s.Routes * n, s.Expressions * n} }

// Budgets bound what is rendered for one Gateway: for each rule, for all rules of each namespace, and for all together.
// A number that is 0 is no bound.
type Budgets struct {
	Rule, Namespace, Gateway Size
}

// DefaultBudgets are those that the programs begin with.
var DefaultBudgets = Budgets{
	Rule:      Size{Routes: 5_000, Expressions: 200},
	Namespace: Size{Routes: 50_000, Expressions: 2_000},
	Gateway:   Size{Routes: 100_000},
}

// Degradation is how much of a rule is rendered.
type Degradation uint8

// Forms of a rule, each smaller than the one before. A rule that is over a budget is served in the first form for which
// there is room; but for the first one its answer is an error.
const (
	NotDegraded        Degradation = iota // as it was written
	DegradedNoRegex                       // its matches without expressions
	DegradedPrefix                        // one match, for the path that its matches have in common
	DegradedNoRequests                    // it takes no request
)

// DegradedSizes are the Sizes of a rule's forms, but for the last one, which has none, at one domain of one listener.
func (r Rule) DegradedSizes() (sizes [DegradedNoRequests]Size) {
	sizes[NotDegraded] = r.renderedSize()
	var one Match // of those that In leaves
	matches := 0
	for _, m := range r.Matches {
		if m.canDropRegex() {
			one = m
			matches++
			sizes[DegradedNoRegex].Routes += m.countRoutes()
		}
	}
	switch {
	case matches == 1:
		sizes[DegradedPrefix].Routes = one.countRoutes()
	case matches > 1:
		sizes[DegradedPrefix].Routes = 1
	}
	return sizes
}

// DegradeTo returns the rule in a form.
func (r Rule) DegradeTo(form Degradation) Rule {
	if form == NotDegraded {
		return r
	}
	status, _ := r.Key.Route.Kind().FailureStatus()
	reduced := Rule{Key: r.Key, Index: r.Index, Error: status}
	if form == DegradedNoRequests {
		return reduced
	}
	for _, m := range r.Matches {
		if wide, ok := m.WithoutRegex(); ok {
			reduced.Matches = append(reduced.Matches, wide)
		}
	}
	if form == DegradedPrefix && len(reduced.Matches) > 1 {
		reduced.Matches = []Match{commonMatch(reduced.Matches)}
	}
	return reduced
}

// renderedSize is what a proxy keeps of the rule at one domain of one listener.
func (r Rule) renderedSize() (s Size) {
	routes, origins := 1, r.countRegexOrigins()
	if r.HasBackendRoutes() {
		routes, origins = 0, 0
		for _, b := range r.Backends {
			if b.Weight > 0 {
				n := 1
				if b.Pool.HasPicker() && !b.Pool.Own {
					n = 2 // one is for WebSockets
				}
				routes += n
				origins += n * max(r.countRegexOrigins(), b.Filters.countRegexOrigins())
			}
		}
	}
	one := Size{Routes: max(routes, 1)}
	add := func(m Match) {
		one.Expressions = one.Routes*m.countRegexes() + origins
		s = s.Plus(one.Times(m.countRoutes()))
	}
	for _, m := range r.Matches {
		add(m)
		if asks, apart := m.PreflightMatch(); apart && r.CORSFilter() != nil {
			add(asks)
		}
	}
	return s
}

// HasBackendRoutes tells whether backends have filters, sessions or pickers of their own, so that each one's share of
// the requests of a match is a route by itself.
func (r Rule) HasBackendRoutes() bool {
	if r.Error != 0 || r.Redirect != nil {
		return false
	}
	for _, b := range r.Backends {
		if b.Filters != nil || b.Session != nil || b.Pool != nil {
			return true
		}
	}
	return false
}

// countRegexOrigins counts the origins of CORS that are expressions: those with a star as a part.
func (f *Filters) countRegexOrigins() (n int) {
	if f == nil || f.CORS == nil {
		return 0
	}
	for _, o := range f.CORS.Origins {
		if o != "*" && strings.Contains(o, "*") {
			n++
		}
	}
	return n
}

// countRoutes counts the routes that a match takes: of the exact path "/" there is one for "//", too.
func (m Match) countRoutes() int {
	if m.GRPC == nil && m.Path == (PathMatch{Type: PathExact, Value: "/"}) {
		return 2
	}
	return 1
}

func (m Match) countRegexes() (n int) {
	if m.Path.Type == PathRegex || m.GRPC != nil && m.GRPC.Regex {
		n++
	}
	for _, list := range [][]ValueMatch{m.Headers, m.Query} {
		for _, v := range list {
			if v.Regex && v.Value != "" {
				n++
			}
		}
	}
	return n
}

// commonMatch is the match for the path that all matches have in common, element by element.
func commonMatch(list []Match) Match {
	if list[0].GRPC != nil {
		first := *list[0].GRPC
		for _, m := range list {
			if m.GRPC.Service != first.Service {
				return Match{GRPC: &GRPCMatch{}}
			}
		}
		return Match{GRPC: &GRPCMatch{Service: first.Service}}
	}
	shared := list[0].Path.pathElements()
	for _, m := range list[1:] {
		elements, n := m.Path.pathElements(), 0
		for n < min(len(shared), len(elements)) && shared[n] == elements[n] {
			n++
		}
		shared = shared[:n]
	}
	return Match{Path: PathMatch{Type: PathPrefix, Value: "/" + strings.Join(shared, "/")}}
}

// pathElements are those of the path that a match without expressions compares.
func (m PathMatch) pathElements() []string {
	path := m.Value
	if m.Type == PathStart {
		path, _ = RegexStart(m.Value)
		path = path[:strings.LastIndexByte(path, '/')] // its last element may go on
	}
	if path = strings.Trim(path, "/"); path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// DegradedRules are the rules that have no room in a host as they were written, with the forms that have.
type DegradedRules map[RuleKey]Degradation
