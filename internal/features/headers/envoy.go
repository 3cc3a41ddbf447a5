package headers

import (
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

func renderRule(e envoy.Rule, v Value) {
	for _, secret := range []bool{false, true} {
		name := map[bool]string{false: "headers", true: envoy.SecretHeaders}[secret]
		request, response := selectChanges(v.Request, secret), selectChanges(v.Response, secret)
		if len(request)+len(response) > 0 {
			e.Filter(extend.SlotTransform, name, &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
				RequestMutations:  envoy.HeaderMutations(request),
				ResponseMutations: envoy.HeaderMutations(response),
			}})
		}
	}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
