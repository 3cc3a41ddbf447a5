package precedence

import (
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

func TestBehindNamesThePartThatDecides(t *testing.T) {
	type site struct {
		host  string
		match model.Match
		born  time.Time
		route string
		rule  int
	}
	order := func(s site) string {
		return EntryOrder(s.host, MatchOrder(s.match), AgeOrder(s.born),
			model.Ref(model.KindHTTPRoute, "a", s.route), s.rule,
			0)
	}
	path := func(kind model.PathType, value string) model.Match {
		return model.Match{Path: model.PathMatch{Type: kind, Value: value}}
	}
	base := site{"a.ex", path(model.PathPrefix, "/ab"), time.Unix(5, 0), "r", 0}
	headers, query, method := base, base, base
	headers.match.Headers = []model.ValueMatch{{Name: "x"}}
	query.match.Query = []model.ValueMatch{{Name: "x"}}
	method.match.Method = "GET"
	grpc := func(service, method string, headers ...model.ValueMatch) site {
		return site{"a.ex", model.Match{GRPC: &model.GRPCMatch{Service: service, Method: method}, Headers: headers},
			time.Unix(5, 0), "r", 0}
	}
	for want, pair := range map[string][2]site{
		"its hostname is less specific":        {base, {"*.ex", base.match, base.born, "r", 0}},
		"its path type has a lower precedence": {{"a.ex", path(model.PathExact, "/"), base.born, "r", 0}, base},
		"it has a shorter path":                {base, {"a.ex", path(model.PathPrefix, "/a"), base.born, "r", 0}},
		"it states no method":                  {method, base},
		"it states fewer headers":              {headers, base},
		"it states fewer query parameters":     {query, base},
		"it states a shorter service":          {grpc("a.Shop", ""), grpc("a.S", "Method")},
		"it states a shorter method":           {grpc("a.Shop", "Get"), grpc("a.Shop", "")},
		"its route is younger":                 {base, {"a.ex", base.match, time.Unix(6, 0), "a", 0}},
		"the name of its route comes later":    {base, {"a.ex", base.match, base.born, "s", 0}},
		"it comes later in its route":          {base, {"a.ex", base.match, base.born, "r", 1}},
	} {
		if first, later := order(pair[0]), order(pair[1]); first >= later || WhyLater(first, later) != want {
			t.Errorf("%q, %q: %s, want %s", first, later, WhyLater(first, later), want)
		}
	}
}
