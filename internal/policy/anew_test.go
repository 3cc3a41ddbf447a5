package policy

import (
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/model"
)

// Anew has each rule read once more what has an issuer of that name.
func (f free) Anew() extend.Anew {
	if f["issuer"] == "anew" {
		return extend.AnewAll
	}
	return extend.AnewNever
}

// TestReadAnew: what can't be served for all alike is read at each rule that inherits it, and at no rule any more once
// it can.
func TestReadAnew(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindSecurityPolicy, "infra/login", `{`+onEdge+`"jwt": {"issuer": "anew"}}`)
	w.want("public", `jwt.issuer = "anew": SecurityPolicy infra/login, on the Gateway`)
	w.policy(model.KindSecurityPolicy, "infra/login", `{`+onEdge+`"jwt": {"issuer": "corp"}}`)
	w.want("public")
	w.policy(model.KindSecurityPolicy, "infra/login", `{"targetRefs": [{"group": "gateway.networking.k8s.io",
		"kind": "Gateway", "name": "edge", "sectionName": "https"}], "jwt": {"issuer": "anew"}}`)
	w.want("public", `jwt.issuer = "anew": SecurityPolicy infra/login, on the listener`)
}

// TestHeldOff: a policy that turns off what an override states is told that it does not.
func TestHeldOff(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindSecurityPolicy, "infra/floor", `{`+onEdge+`"strategy": "PatchOverrides", "jwt": {"issuer": "a"}}`)
	w.policy(model.KindSecurityPolicy, "shop/open", `{`+onWeb+`"disable": ["jwt"]}`)
	w.want("public",
		`jwt.issuer = "a": SecurityPolicy infra/floor (override), on the Gateway`,
		`jwt. over off: SecurityPolicy shop/open, on the route`,
	)
}
