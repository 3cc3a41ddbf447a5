package precedence

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// placement is a match as its Order sees it.
type placement struct {
	hostname string // the route's
	match    model.Match
	created  string // RFC 3339; "" is not stated
	route    string // namespace, then name
	rule     int
	index    int
}

func (p placement) order(t *testing.T) string {
	t.Helper()
	var created time.Time
	if p.created != "" {
		var err error
		if created, err = time.Parse(time.RFC3339, p.created); err != nil {
			t.Fatal(err)
		}
	}
	var namespace, name string
	if _, err := fmt.Sscan(p.route, &namespace, &name); err != nil {
		namespace, name = "default", "r"
	}
	if p.hostname == "" {
		p.hostname = "*"
	}
	return EntryOrder(p.hostname, MatchOrder(p.match), AgeOrder(created), model.Ref(model.KindHTTPRoute, namespace, name),
		p.rule, p.index)
}

func path(kind model.PathType, value string) model.PathMatch {
	return model.PathMatch{Type: kind, Value: value}
}

func values(n int) []model.ValueMatch { return make([]model.ValueMatch, n) }

// TestOrder holds that in each list every placement comes before those after it.
func TestOrder(t *testing.T) {
	prefix := func(value string) model.Match { return model.Match{Path: path(model.PathPrefix, value)} }
	for name, list := range map[string][]placement{
		"hostname first, then path": {
			{hostname: "a.b.ex", match: prefix("/"), route: "z z"},
			{hostname: "*.b.ex", match: model.Match{Path: path(model.PathExact, "/a")}},
			{hostname: "*.ex", match: model.Match{Path: path(model.PathExact, "/a/b")}},
			{hostname: "*", match: model.Match{Path: path(model.PathExact, "/a/b/c")}, created: "2020-01-01T00:00:00Z"},
		},
		"path, method, headers, query": {
			{match: model.Match{Path: path(model.PathExact, "/a")}},
			{match: model.Match{Path: path(model.PathRegex, "/.*")}},
			{match: prefix("/ab")},
			{match: model.Match{Path: path(model.PathPrefix, "/a"), Method: "GET"}},
			{match: model.Match{Path: path(model.PathPrefix, "/a"), Headers: values(10)}},
			{match: model.Match{Path: path(model.PathPrefix, "/a"), Headers: values(9), Query: values(16)}},
			{match: model.Match{Path: path(model.PathPrefix, "/a"), Headers: values(9)}},
			{match: model.Match{Path: path(model.PathPrefix, "/a"), Query: values(10)}},
			{match: model.Match{Path: path(model.PathPrefix, "/a"), Query: values(9)}},
			{match: prefix("/a")},
			{match: model.Match{Path: path(model.PathPrefix, "/"), Method: "GET", Headers: values(16)}},
			{match: prefix("/")},
		},
		"gRPC: service, method, headers": {
			{match: model.Match{GRPC: &model.GRPCMatch{Service: "a.Longer"}}},
			{match: model.Match{GRPC: &model.GRPCMatch{Service: "a.Short", Method: "Do"}}},
			{match: model.Match{GRPC: &model.GRPCMatch{Service: "a.Short"}, Headers: values(16)}},
			{match: model.Match{GRPC: &model.GRPCMatch{Service: "a.Short"}}},
			{match: model.Match{GRPC: &model.GRPCMatch{Method: "Longer"}}},
			{match: model.Match{GRPC: &model.GRPCMatch{Method: "Do"}}},
			{match: model.Match{GRPC: &model.GRPCMatch{}, Headers: values(1)}},
			{match: model.Match{GRPC: &model.GRPCMatch{}}},
		},
		"age, name, place": {
			{created: "2026-01-01T00:00:00Z", route: "z z"},
			{created: "2026-01-01T02:00:00+01:00", route: "y y"}, // 01:00 UTC
			{created: "2026-01-01T01:30:00Z", route: "x x"},
			{route: "a a", rule: 15, index: 63},
			{route: "a a-b"},
			{route: "a b", rule: 0, index: 2},
			{route: "a b", rule: 0, index: 10},
			{route: "a b", rule: 2},
			{route: "a b", rule: 10},
			{route: "b a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var orders []string
			for _, p := range list {
				orders = append(orders, p.order(t))
			}
			if !slices.IsSorted(orders) {
				t.Errorf("not in order:\n%q", orders)
			}
			if distinct := slices.Compact(slices.Clone(orders)); len(distinct) != len(orders) {
				t.Errorf("some are equal:\n%q", orders)
			}
		})
	}
}
