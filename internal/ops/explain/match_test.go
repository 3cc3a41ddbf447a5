package explain

import (
	"testing"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
)

// TestMatchText: a gRPC match is told as it was stated, not as the path that it was rendered to; its other conditions
// stay.
func TestMatchText(t *testing.T) {
	rendered := request.Phrase{Path: "path /shop.Cart/Get", Conditions: []string{"header x-a: 1"}}
	for _, c := range []struct {
		match model.Match
		index int
		want  string
	}{
		{model.Match{}, 0, "path /shop.Cart/Get, header x-a: 1"},
		{model.Match{GRPC: &model.GRPCMatch{Service: "shop.Cart", Method: "Get"}}, 0,
			"gRPC service shop.Cart, method Get, header x-a: 1"},
		{model.Match{GRPC: &model.GRPCMatch{Service: "shop", Regex: true}}, 0,
			"gRPC service that matches shop, header x-a: 1"},
		{model.Match{GRPC: &model.GRPCMatch{}}, 0, "every gRPC method, header x-a: 1"},
		{model.Match{GRPC: &model.GRPCMatch{Service: "shop.Cart"}}, -1, "path /shop.Cart/Get, header x-a: 1"},
	} {
		if got := matchText(model.Rule{Matches: []model.Match{c.match}}, c.index, rendered); got != c.want {
			t.Errorf("%+v: %q, want %q", c.match, got, c.want)
		}
	}
}
