package kinds

import (
	"slices"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// TestMatch holds what reading a match makes of names and slashes.
func TestMatch(t *testing.T) {
	value := func(s string) *string { return &s }
	got := httpMatch(gatewayv1.HTTPRouteMatch{
		Path: &gatewayv1.HTTPPathMatch{Value: value("/a//")},
		Headers: []gatewayv1.HTTPHeaderMatch{
			{Name: "X-A", Value: "first"}, {Name: "x-a", Value: "second"}, {Name: "b", Value: "b"},
		},
		QueryParams: []gatewayv1.HTTPQueryParamMatch{{Name: "Q", Value: "1"}, {Name: "q", Value: "2"},
			{Name: "Q", Value: "3"}},
	})
	if got.Path != (model.PathMatch{Type: model.PathPrefix, Value: "/a"}) {
		t.Errorf("path: %v", got.Path)
	}
	if want := []model.ValueMatch{{Name: "x-a", Value: "first"}, {Name: "b", Value: "b"}}; !slices.Equal(got.Headers,
		want) {
		t.Errorf("headers: %v, want %v", got.Headers, want)
	}
	if want := []model.ValueMatch{{Name: "Q", Value: "1"}, {Name: "q", Value: "2"}}; !slices.Equal(got.Query, want) {
		t.Errorf("query: %v, want %v", got.Query, want)
	}
}
