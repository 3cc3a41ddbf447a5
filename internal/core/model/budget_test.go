package model

import (
	"reflect"
	"testing"
)

func prefixes(values ...string) (list []Match) {
	for _, v := range values {
		list = append(list, Match{Path: PathMatch{Type: PathPrefix, Value: v}})
	}
	return list
}

// TestFormSizes: what a proxy keeps of a rule is counted as it is multiplied, and each form is no larger than the last.
func TestFormSizes(t *testing.T) {
	regex := func(value string) Match { return Match{Path: PathMatch{Type: PathRegex, Value: value}} }
	header := Match{Headers: []ValueMatch{{Name: "a", Value: "b+", Regex: true}, {Name: "c", Value: "d"}},
		Query: []ValueMatch{{Name: "q", Value: "x*", Regex: true}}}
	cors := Filters{CORS: &CORS{Origins: []string{"https://a", "https://*.b"}}}
	filtered := []WeightedBackend{{Weight: 1, Filters: &Filters{}}, {Weight: 0}, {Weight: 1, Filters: &cors}}
	for name, c := range map[string]struct {
		rule Rule
		want [DegradedNoRequests]Size
	}{
		"prefixes":    {Rule{Matches: prefixes("/a", "/b", "/c")}, [...]Size{{3, 0}, {3, 0}, {1, 0}}},
		"expressions": {Rule{Matches: []Match{regex("/a/.*"), regex("/b+"), header}}, [...]Size{{3, 4}, {3, 0}, {1, 0}}},
		"unknown":     {Rule{Matches: []Match{regex(".*"), regex("/(a|b)")}}, [...]Size{{2, 2}, {0, 0}, {0, 0}}},
		"one of each backend": {Rule{Matches: []Match{regex("/a"), regex("/b")}, Backends: filtered},
			[...]Size{{4, 6}, {2, 0}, {1, 0}}},
		"exactly /": {Rule{Matches: []Match{{Path: PathMatch{Type: PathExact, Value: "/"}}}},
			[...]Size{{2, 0}, {2, 0}, {2, 0}}},
		"CORS": {Rule{Matches: prefixes("/a", "/b"), Filters: cors}, [...]Size{{2, 2}, {2, 0}, {1, 0}}},
		"preflights": {Rule{Matches: []Match{{Method: "PUT"}, {Path: prefixes("/a")[0].Path}, {Headers: header.Headers}},
			Filters: cors}, [...]Size{{5, 6}, {3, 0}, {1, 0}}},
		"invalid": {Rule{Matches: prefixes("/a"), Error: 500, Backends: filtered}, [...]Size{{1, 0}, {1, 0}, {1, 0}}},
	} {
		if got := c.rule.DegradedSizes(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for form := range c.want {
			if got := c.rule.DegradeTo(Degradation(form)).renderedSize(); got != c.want[form] {
				t.Errorf("%s: in form %d %v, want %v", name, form, got, c.want[form])
			}
		}
	}
}

// TestFormPrefix: the last form that takes requests takes what the matches have in common.
func TestFormPrefix(t *testing.T) {
	for name, c := range map[string]struct {
		matches []Match
		want    Match
	}{
		"elements": {prefixes("/api/one", "/api/only"), prefixes("/api")[0]},
		"equal":    {prefixes("/api/one", "/api/one"), prefixes("/api/one")[0]},
		"nothing":  {prefixes("/api", "/other"), prefixes("/")[0]},
		"start": {[]Match{{Path: PathMatch{Type: PathRegex, Value: "/api/us[a-z]+"}}, {Path: PathMatch{Type: PathExact,
			Value: "/api/us"}}}, prefixes("/api")[0]},
		"service": {[]Match{{GRPC: &GRPCMatch{Service: "a", Method: "b"}}, {GRPC: &GRPCMatch{Service: "a"}}},
			Match{GRPC: &GRPCMatch{Service: "a"}}},
		"services": {[]Match{{GRPC: &GRPCMatch{Service: "a"}}, {GRPC: &GRPCMatch{Service: "b"}}}, Match{GRPC: &GRPCMatch{}}},
	} {
		got := Rule{Matches: c.matches}.DegradeTo(DegradedPrefix)
		if len(got.Matches) != 1 || !reflect.DeepEqual(got.Matches[0], c.want) || got.Error != 500 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
