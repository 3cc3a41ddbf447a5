package apikey

import (
	"encoding/json"

	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	apikeyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/api_key_auth/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// listIdentityHeaders is the header of the client's name.
func listIdentityHeaders(v Value) extend.IdentityHeaders {
	return extend.IdentityHeaders{Only: []string{envoy.UserHeader(v.ClientHeader)}}
}

func renderRule(e envoy.Rule, v Value) {
	if v.Missing {
		v.renderOptional(e)
		return
	}
	e.Filter(extend.SlotAuthn, "apiKey", v.authFilter(envoy.UserHeader(v.ClientHeader)))
	e.Filter(extend.SlotAuthn, "apiKey.client", envoy.UserFilter(v.ClientHeader))
	if len(v.Clients) > 0 {
		e.Filter(extend.SlotAuthn, "apiKey.clients", onlyClients(v.Clients))
	}
}

// authFilter asks for a key, and puts the name of its client into a header.
func (v Value) authFilter(header string) *apikeyv3.ApiKeyAuth {
	config := &apikeyv3.ApiKeyAuth{Forwarding: &apikeyv3.Forwarding{Header: header, HideCredentials: !v.Forward}}
	var keys []Credential
	if err := json.Unmarshal(v.Keys, &keys); err != nil {
		panic(err) // read wrote it
	}
	for _, k := range keys {
		config.Credentials = append(config.Credentials, &apikeyv3.Credential{Key: k.Key, Client: k.Client})
	}
	for _, s := range v.From {
		config.KeySources = append(config.KeySources, &apikeyv3.KeySource{
			Header: s.Header, Query: s.Query, Cookie: s.Cookie,
		})
	}
	return config
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})

// renderOptional lets pass what has no key. Envoy's filter can't do that, so each request gets a last key. The client
// of this key counts as nobody.
func (v Value) renderOptional(e envoy.Rule) {
	e.Filter(extend.SlotAuthn, "apiKey.none", changeHeaders(extend.HeaderChange{
		Action: extend.SetHeader, Name: lastHeader, Format: noKey,
	}))
	config := v.authFilter(envoy.UserHeader(""))
	config.Credentials = append(config.Credentials, &apikeyv3.Credential{Key: noKey, Client: noKey})
	config.KeySources = append(config.KeySources, &apikeyv3.KeySource{Header: lastHeader})
	e.Filter(extend.SlotAuthn, "apiKey", config)
	e.Filter(extend.SlotAuthn, "apiKey.client", clientFilter())
	changes := []extend.HeaderChange{{Action: extend.RemoveHeader, Name: lastHeader}}
	if v.ClientHeader != "" {
		changes = append(changes, extend.HeaderChange{
			Action: extend.SetHeader, Name: v.ClientHeader,
			Format: "%DYNAMIC_METADATA(" + envoy.UserMetadata + ":" + clientKey + ")%",
		})
	}
	e.Filter(extend.SlotAuthn, "apiKey.header", changeHeaders(changes...))
	if len(v.Clients) > 0 {
		only := onlyClients(v.Clients)
		others := &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_NotId{
			NotId: envoy.HasMetadata(envoy.UserMetadata, clientKey),
		}}
		only.Rules.Policies["no key"] = &rbacconfigv3.Policy{
			Permissions: []*rbacconfigv3.Permission{{Rule: &rbacconfigv3.Permission_Any{Any: true}}},
			Principals:  []*rbacconfigv3.Principal{others},
		}
		e.Filter(extend.SlotAuthn, "apiKey.clients", only)
	}
}

// clientFilter tells later filters the client of a key, and of no other.
func clientFilter() *metadatav3.Config {
	rule := func(key string, remove bool) *metadatav3.Config_Rule {
		return &metadatav3.Config_Rule{
			Header: envoy.UserHeader(""), Remove: remove,
			OnHeaderPresent: &metadatav3.Config_KeyValuePair{
				MetadataNamespace: envoy.UserMetadata, Key: key,
				RegexValueRewrite: &matcherv3.RegexMatchAndSubstitute{ // an empty value is left out
					Pattern: &matcherv3.RegexMatcher{Regex: "^" + noKey + "$"},
				},
			},
		}
	}
	return &metadatav3.Config{RequestRules: []*metadatav3.Config_Rule{rule(envoy.UserKey, false), rule(clientKey, true)}}
}

// changeHeaders changes headers of requests.
func changeHeaders(changes ...extend.HeaderChange) *mutationv3.HeaderMutation {
	return &mutationv3.HeaderMutation{Mutations: &mutationv3.Mutations{RequestMutations: envoy.HeaderMutations(changes)}}
}

// onlyClients refuses clients that are not on a list.
func onlyClients(clients []string) *rbacv3.RBAC {
	m := extend.RequestMatch{RequestParts: extend.RequestParts{Users: clients}}
	return &rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{
		Action: rbacconfigv3.RBAC_ALLOW, Policies: map[string]*rbacconfigv3.Policy{"clients": envoy.MatchPolicy(m)},
	}}
}
