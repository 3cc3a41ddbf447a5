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

// Form is how much of a rule is rendered.
type Form uint8

// Forms of a rule, each smaller than the one before. A rule that is over a budget is served in the first form for which
// there is room; but for the first one its answer is an error.
const (
	FormWhole   Form = iota // as it was written
	FormMatches             // its matches without expressions
	FormPrefix              // one match, for the path that its matches have in common
	FormNone                // it takes no request
)

// Forms are the Sizes of a rule's forms, but for the last one, which has none, at one domain of one listener.
func (r Rule) Forms() (sizes [FormNone]Size) {
	sizes[FormWhole] = r.size()
	var one Match // of those that In leaves
	matches := 0
	for _, m := range r.Matches {
		if m.wide() {
			one = m
			matches++
			sizes[FormMatches].Routes += m.spellings()
		}
	}
	switch {
	case matches == 1:
		sizes[FormPrefix].Routes = one.spellings()
	case matches > 1:
		sizes[FormPrefix].Routes = 1
	}
	return sizes
}

// In returns the rule in a form.
func (r Rule) In(form Form) Rule {
	if form == FormWhole {
		return r
	}
	status, _ := r.Key.Route.Kind().Failure()
	reduced := Rule{Key: r.Key, Index: r.Index, Error: status}
	if form == FormNone {
		return reduced
	}
	for _, m := range r.Matches {
		if wide, ok := m.WithoutRegex(); ok {
			reduced.Matches = append(reduced.Matches, wide)
		}
	}
	if form == FormPrefix && len(reduced.Matches) > 1 {
		reduced.Matches = []Match{common(reduced.Matches)}
	}
	return reduced
}

// size is what a proxy keeps of the rule at one domain of one listener.
func (r Rule) size() (s Size) {
	routes, origins := 1, r.origins()
	if r.Divided() {
		routes, origins = 0, 0
		for _, b := range r.Backends {
			if b.Weight > 0 {
				n := 1
				if b.Pool.Picked() && !b.Pool.Own {
					n = 2 // one is for WebSockets
				}
				routes += n
				origins += n * max(r.origins(), b.Filters.origins())
			}
		}
	}
	one := Size{Routes: max(routes, 1)}
	add := func(m Match) {
		one.Expressions = one.Routes*m.expressions() + origins
		s = s.Plus(one.Times(m.spellings()))
	}
	for _, m := range r.Matches {
		add(m)
		if asks, apart := m.Preflight(); apart && r.CORSFilter() != nil {
			add(asks)
		}
	}
	return s
}

// Divided tells whether backends have filters, sessions or pickers of their own, so that each one's share of the
// requests of a match is a route by itself.
func (r Rule) Divided() bool {
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

// origins counts the origins of CORS that are expressions: those with a star as a part.
func (f *Filters) origins() (n int) {
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

// spellings counts the routes that a match takes: of the exact path "/" there is one for "//", too.
func (m Match) spellings() int {
	if m.GRPC == nil && m.Path == (PathMatch{Type: PathExact, Value: "/"}) {
		return 2
	}
	return 1
}

func (m Match) expressions() (n int) {
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

// common is the match for the path that all matches have in common, element by element.
func common(list []Match) Match {
	if list[0].GRPC != nil {
		first := *list[0].GRPC
		for _, m := range list {
			if m.GRPC.Service != first.Service {
				return Match{GRPC: &GRPCMatch{}}
			}
		}
		return Match{GRPC: &GRPCMatch{Service: first.Service}}
	}
	shared := list[0].Path.elements()
	for _, m := range list[1:] {
		elements, n := m.Path.elements(), 0
		for n < min(len(shared), len(elements)) && shared[n] == elements[n] {
			n++
		}
		shared = shared[:n]
	}
	return Match{Path: PathMatch{Type: PathPrefix, Value: "/" + strings.Join(shared, "/")}}
}

// elements are those of the path that a match without expressions compares.
func (m PathMatch) elements() []string {
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

// Reduced are the rules that have no room in a host as they were written, with the forms that have.
type Reduced map[RuleKey]Form
