package credentials

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// renderBackend is filters of the backend's own: they see each attempt, after all that routes do to headers. A request
// that comes before the secret is answered with 401.
func renderBackend(e envoy.Backend, v Value) {
	if len(v.Remove) > 0 {
		var changes []extend.HeaderChange
		for _, name := range v.Remove {
			changes = append(changes, extend.HeaderChange{Action: extend.RemoveHeader, Name: name})
		}
		e.Filter("strip", &headermutationv3.HeaderMutation{
			Mutations: &headermutationv3.Mutations{RequestMutations: envoy.HeaderMutations(changes)},
		})
	}
	if v.Header == "" {
		return
	}
	generic := &genericv3.Generic{
		Credential: e.Secret("credentials", v.Secret), Header: v.Header, HeaderValuePrefix: v.Prefix,
	}
	packed, err := anypb.New(generic)
	if err != nil {
		panic(err) // a message can be packed
	}
	e.Filter("credentials", &injectorv3.CredentialInjector{
		Overwrite: v.Overwrite, Credential: &corev3.TypedExtensionConfig{Name: "generic", TypedConfig: packed},
	})
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Backend: renderBackend})
