package extend_test

import (
	"fmt"

	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// Spec says which team a request belongs to.
type Spec struct {
	Team string `json:"team,omitempty"`
}

// Feature tells backends the team, in the header x-team. Its Schema is what schemagen writes of Spec.
var Feature = extend.Feature[Spec, []extend.HeaderChange]{
	Kind: extend.TrafficPolicy, Name: "example.com/team", Levels: extend.AtRule, OnInvalid: extend.Deny,
	Schema: []byte(`{"type": "object", "properties": {"team": {"type": "string", "maxLength": 64}}}`),
	Read: func(r extend.Reader, s Spec) []extend.HeaderChange {
		if s.Team == "" {
			r.Field("team").Refuse("name a team")
		}
		edit := extend.HeaderEdit{Name: "x-team", Value: &s.Team}
		return extend.ReadHeaders(r, "", extend.HeaderEdits{Set: []extend.HeaderEdit{edit}})
	},
	Renders: envoy.Render(envoy.Funcs[[]extend.HeaderChange]{
		Rule: func(e envoy.Rule, changes []extend.HeaderChange) {
			e.Filter(extend.SlotCustom3, "example.com/team", &headermutationv3.HeaderMutation{
				Mutations: &headermutationv3.Mutations{RequestMutations: envoy.HeaderMutations(changes)},
			})
		},
	}),
	Judge: extend.PassAll[[]extend.HeaderChange],
}

func ExampleFeature() {
	plugin := Feature.Plug()
	fmt.Println(plugin.Feature.Name, "of a", plugin.Feature.Kind)
	// Output: example.com/team of a TrafficPolicy
}
