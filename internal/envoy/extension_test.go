package envoy

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/slots"
)

// TestExtensionHead: the parts of an extension, with the head that stands before them, are one message.
func TestExtensionHead(t *testing.T) {
	var rest []*resource.Part
	for _, name := range []string{"a", "b"} {
		rest = append(rest, newPart(name, mustMarshal(&jwtv3.JwtAuthentication{
			RequirementMap: map[string]*jwtv3.JwtRequirement{name: {}},
		})))
	}
	for n := range len(rest) + 1 {
		r := resource.Join(append([]*resource.Part{extensionHead(slots.JWT, rest[:n])}, rest[:n]...)...)
		var e corev3.TypedExtensionConfig
		var m jwtv3.JwtAuthentication
		if err := proto.Unmarshal(r.Flatten(nil), &e); err != nil {
			t.Fatal(err)
		}
		if err := e.TypedConfig.UnmarshalTo(&m); err != nil {
			t.Fatal(err)
		}
		if e.Name != slots.JWT || len(m.RequirementMap) != n {
			t.Errorf("%d parts: %v of %v", n, &m, &e)
		}
	}
}

// TestARefusedEntry: what one policy states of a filter that keeps state, and a proxy refuses, is left out. What names
// it is refused (403); what names another entry goes on, and so do later edits.
func TestARefusedEntry(t *testing.T) {
	bind := freePort(t)
	w := newStatedWorld(t)
	key := func(id string) plan.SharedKey { return plan.SharedKey{Gateway: testGateway, Slot: slots.JWT, ID: id} }
	policy := model.Ref(model.KindOf("test", "Policy"), "shop", "bad")
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "corp.test", forward("corp", prefix("/")))
		w.serve(b, 1, 80, "http", "bad.test", forward("bad", prefix("/")))
		w.stated.shared.Set(b, key("corp"), plan.SharedEntry{From: testGateway, Value: testProvider("corp", testKeys)})
		w.stated.routes.Set(b, testRuleKey("corp").Route, plan.RouteSettings{Own: []plan.Setting{require("corp")}})
	})
	w.serveLive(t)
	eventually(t, "corp asks for a token", func() bool { return statusAt(t, bind, "corp.test") == 401 })
	w.g.Apply("test", func(b *flow.Batch) {
		w.stated.shared.Set(b, key("bad"), plan.SharedEntry{From: policy, Value: testProvider("bad", `{"keys":[]}`)})
		w.stated.routes.Set(b, testRuleKey("bad").Route, plan.RouteSettings{Own: []plan.Setting{require("bad")}})
	})
	eventually(t, "bad refuses requests", func() bool { return statusAt(t, bind, "bad.test") == 403 })
	eventually(t, "the entry is told", func() bool { return w.refusals()["jwt/bad"] != "" })
	if got := w.refusals(); len(got) != 1 || statusAt(t, bind, "corp.test") != 401 {
		t.Errorf("refused: %v", got)
	}
	w.g.Apply("test", func(b *flow.Batch) { // a listener is edited, and the entry mended
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""), testListener("other", "other.test"))
		w.serve(b, 1, 80, "other", "other.test", forward("other", prefix("/")))
	})
	eventually(t, "the edit is live", func() bool { return statusAt(t, bind, "other.test") == 200 })
	w.g.Apply("test", func(b *flow.Batch) {
		w.stated.shared.Set(b, key("bad"), plan.SharedEntry{From: policy, Value: testProvider("bad", testKeys)})
	})
	eventually(t, "the mended entry serves", func() bool { return statusAt(t, bind, "bad.test") == 401 })
	eventually(t, "nothing is refused any more", func() bool { return len(w.refusals()) == 0 })
}
