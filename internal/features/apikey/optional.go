package apikey

import (
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	apikeyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/api_key_auth/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/extend"
)

const (
	// lastHeader is where a key is looked for last. A client can't set it: the proxy sets it before.
	lastHeader = "x-cardea-no-key"
	// noKey is the key that stands there, and its client. No key of a Secret has a space.
	noKey = "no key"
	// clientKey is where the client of a key stands, beside the name of the user.
	clientKey = "client"
)

// renderOptional lets pass what has no key. Envoy's filter can't do that, so each request gets a last key. The client
// of this key counts as nobody.
func (v Value) renderOptional(e extend.EnvoyRule) {
	e.Filter(extend.SlotAuthn, "apiKey.none", set(extend.HeaderChange{
		Action: extend.SetHeader, Name: lastHeader, Format: noKey,
	}))
	config := v.filter(extend.UserHeader(""))
	config.Credentials = append(config.Credentials, &apikeyv3.Credential{Key: noKey, Client: noKey})
	config.KeySources = append(config.KeySources, &apikeyv3.KeySource{Header: lastHeader})
	e.Filter(extend.SlotAuthn, "apiKey", config)
	e.Filter(extend.SlotAuthn, "apiKey.client", clientFilter())
	changes := []extend.HeaderChange{{Action: extend.RemoveHeader, Name: lastHeader}}
	if v.ClientHeader != "" {
		changes = append(changes, extend.HeaderChange{
			Action: extend.SetHeader, Name: v.ClientHeader,
			Format: "%DYNAMIC_METADATA(" + extend.UserMetadata + ":" + clientKey + ")%",
		})
	}
	e.Filter(extend.SlotAuthn, "apiKey.header", set(changes...))
	if len(v.Clients) > 0 {
		only := onlyClients(v.Clients)
		others := &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_NotId{
			NotId: extend.HasMetadata(extend.UserMetadata, clientKey),
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
			Header: extend.UserHeader(""), Remove: remove,
			OnHeaderPresent: &metadatav3.Config_KeyValuePair{
				MetadataNamespace: extend.UserMetadata, Key: key,
				RegexValueRewrite: &matcherv3.RegexMatchAndSubstitute{ // an empty value is left out
					Pattern: &matcherv3.RegexMatcher{Regex: "^" + noKey + "$"},
				},
			},
		}
	}
	return &metadatav3.Config{RequestRules: []*metadatav3.Config_Rule{rule(extend.UserKey, false), rule(clientKey, true)}}
}

// set changes headers of requests.
func set(changes ...extend.HeaderChange) *mutationv3.HeaderMutation {
	return &mutationv3.HeaderMutation{Mutations: &mutationv3.Mutations{RequestMutations: extend.HeaderMutations(changes)}}
}
