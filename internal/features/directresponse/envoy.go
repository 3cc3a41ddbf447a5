package directresponse

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

func renderRule(e envoy.Rule, v Value) {
	action := &routev3.DirectResponseAction{Status: v.Status}
	if v.Body != "" {
		action.Body = &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(v.Body)}}
	}
	e.Route(&routev3.Route{Action: &routev3.Route_DirectResponse{DirectResponse: action}})
	for _, secret := range []bool{false, true} {
		name := map[bool]string{false: "directResponse", true: envoy.SecretHeaders}[secret]
		if changes := v.headerChanges(secret); len(changes) > 0 {
			e.Filter(extend.SlotTransform, name, &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
				ResponseMutations: envoy.HeaderMutations(changes),
			}})
		}
	}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
