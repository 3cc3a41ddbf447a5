package authentication

import (
	"fmt"

	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// renderRule: methods that are combined by Any let pass what brings nothing for them, and the filter "anyone" refuses
// what none of them accepted. Envoy's filter for that answers 403; what is said in metadata has the connection manager
// answer 401, with the challenge. It also has the challenge stand in what methods answer.
//
//	authn:  asks methods | basicAuth | apiKey     jwt     authz:  asks anyone | anyone | asks nobody
func renderRule(e envoy.Rule, v Value) {
	if v.Challenge == "" {
		return
	}
	e.Filter(extend.SlotAuthn, "authentication", nextAskerMetadata(envoy.AskedByMethods, v.Challenge))
	if v.Any {
		e.Filter(extend.SlotAuthz, "anyone.asked", nextAskerMetadata(envoy.AskedByAnyone, v.Challenge))
		e.Filter(extend.SlotAuthz, "anyone", v.anyoneFilter())
	}
	e.Filter(extend.SlotAuthz, "authentication.done", nextAskerMetadata(envoy.AskedByNobody, v.Challenge))
}

// anyoneFilter lets pass what a method accepted.
func (v Value) anyoneFilter() *rbacv3.RBAC {
	policies := map[string]*rbacconfigv3.Policy{"user": principalPolicy(envoy.HasMetadata(envoy.UserMetadata,
		envoy.UserKey))}
	for _, p := range v.Providers {
		policies[fmt.Sprintf("token of %s", p)] = principalPolicy(envoy.HasMetadata(envoy.ClaimsMetadata, p))
	}
	return &rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{Action: rbacconfigv3.RBAC_ALLOW, Policies: policies}}
}

func principalPolicy(p *rbacconfigv3.Principal) *rbacconfigv3.Policy {
	return &rbacconfigv3.Policy{
		Permissions: []*rbacconfigv3.Permission{{Rule: &rbacconfigv3.Permission_Any{Any: true}}},
		Principals:  []*rbacconfigv3.Principal{p},
	}
}

// nextAskerMetadata says who may refuse the request next.
func nextAskerMetadata(who, challenge string) *metadatav3.Config {
	return &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: envoy.AskedMetadata, AllowOverwrite: true,
		Value: &structpb.Struct{Fields: map[string]*structpb.Value{
			envoy.AskedBy: structpb.NewStringValue(who), envoy.AskedChallenge: structpb.NewStringValue(challenge),
		}},
	}}}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
