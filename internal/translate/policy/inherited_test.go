package policy

import (
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// RereadPerRule has each rule read an issuer of this name once more.
func (f free) RereadPerRule() extend.Reread {
	if f["issuer"] == "reread" {
		return extend.RereadAll
	}
	return extend.RereadNever
}

// TestReread: what can't be served for all alike is read at each rule that inherits it, and at no rule any more once
// it can.
func TestReread(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindSecurityPolicy, "infra/login", `{`+onEdge+`"jwt": {"issuer": "reread"}}`)
	w.want("public", `jwt.issuer = "reread": SecurityPolicy infra/login, on the Gateway`)
	w.policy(model.KindSecurityPolicy, "infra/login", `{`+onEdge+`"jwt": {"issuer": "corp"}}`)
	w.want("public")
	w.policy(model.KindSecurityPolicy, "infra/login", `{"targetRefs": [{"group": "gateway.networking.k8s.io",
		"kind": "Gateway", "name": "edge", "sectionName": "https"}], "jwt": {"issuer": "reread"}}`)
	w.want("public", `jwt.issuer = "reread": SecurityPolicy infra/login, on the listener`)
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

// TestInheritingLooksNoFurther: a rule that inherits fields of one feature is not looked at when the Gateway's policy
// states another feature otherwise.
func TestInheritingLooksNoFurther(t *testing.T) {
	w := newTester(t)
	const base = `{` + onEdge + `"jwt": {"request": "5s"}, "cors": `
	w.policy(model.KindSecurityPolicy, "infra/base", base+`{"maxAge": 5}}`)
	before := w.runs("policy/routes")
	w.policy(model.KindSecurityPolicy, "infra/base", base+`{"maxAge": 6}}`)
	if n := w.runs("policy/routes") - before; n != 0 {
		t.Errorf("the route was looked at %d times", n)
	}
	w.policy(model.KindSecurityPolicy, "infra/base", `{`+onEdge+`"jwt": {"request": "6s"}, "cors": {"maxAge": 6}}`)
	if w.runs("policy/routes") == before {
		t.Error("the route inherits what it did before")
	}
}

func (w *tester) runs(collection string) (runs uint64) {
	for _, c := range w.g.Stats() {
		if c.Name == collection {
			runs = c.Runs
		}
	}
	return runs
}
