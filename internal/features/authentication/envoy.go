package authentication

import (
	"fmt"

	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/extend"
)

// render: methods that are combined by Any let pass what brings nothing for them, and the filter "anyone" refuses what
// none of them accepted. Envoy's filter for that answers 403; what is said in metadata has the connection manager
// answer 401, with the challenge. It also has the challenge stand in what methods answer.
//
//	authn:  asks methods | basicAuth | apiKey     jwt     authz:  asks anyone | anyone | asks nobody
func render(e extend.EnvoyRule, v Value) {
	if v.Challenge == "" {
		return
	}
	e.Filter(extend.SlotAuthn, "authentication", asks(extend.AskedByMethods, v.Challenge))
	if v.Any {
		e.Filter(extend.SlotAuthz, "anyone.asked", asks(extend.AskedByAnyone, v.Challenge))
		e.Filter(extend.SlotAuthz, "anyone", v.anyone())
	}
	e.Filter(extend.SlotAuthz, "authentication.done", asks(extend.AskedByNobody, v.Challenge))
}

// anyone lets pass what a method accepted.
func (v Value) anyone() *rbacv3.RBAC {
	policies := map[string]*rbacconfigv3.Policy{"user": policy(extend.HasMetadata(extend.UserMetadata, extend.UserKey))}
	for _, p := range v.Providers {
		policies[fmt.Sprintf("token of %s", p)] = policy(extend.HasMetadata(extend.ClaimsMetadata, p))
	}
	return &rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{Action: rbacconfigv3.RBAC_ALLOW, Policies: policies}}
}

func policy(p *rbacconfigv3.Principal) *rbacconfigv3.Policy {
	return &rbacconfigv3.Policy{
		Permissions: []*rbacconfigv3.Permission{{Rule: &rbacconfigv3.Permission_Any{Any: true}}},
		Principals:  []*rbacconfigv3.Principal{p},
	}
}

// asks says who may refuse the request next.
func asks(who, challenge string) *metadatav3.Config {
	return &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: extend.AskedMetadata, AllowOverwrite: true,
		Value: &structpb.Struct{Fields: map[string]*structpb.Value{
			extend.AskedBy: structpb.NewStringValue(who), extend.AskedChallenge: structpb.NewStringValue(challenge),
		}},
	}}}
}
