package basicauth

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	basicauthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// listIdentityHeaders is the header of the user's name.
func listIdentityHeaders(v Value) extend.IdentityHeaders {
	return extend.IdentityHeaders{Only: []string{envoy.UserHeader(v.UserHeader)}}
}

func renderRule(e envoy.Rule, v Value) {
	e.Filter(extend.SlotAuthn, "basicAuth", &basicauthv3.BasicAuth{
		Users: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: string(v.Users)}},
		Realm: v.Realm, ForwardUsernameHeader: envoy.UserHeader(v.UserHeader),
		AllowMissing: v.Missing, EmitDynamicMetadata: v.Missing, // which Envoy wants
	})
	e.Filter(extend.SlotAuthn, "basicAuth.user", envoy.UserFilter(v.UserHeader))
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
