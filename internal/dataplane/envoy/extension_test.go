package envoy

import (
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// TestExtensionHead: the parts of an extension, with the head that stands before them, are one message.
func TestExtensionHead(t *testing.T) {
	var rest []*resource.Part
	for _, name := range []string{"a", "b"} {
		rest = append(rest, message.NewPart(name, message.MustMarshal(&jwtv3.JwtAuthentication{
			RequirementMap: map[string]*jwtv3.JwtRequirement{name: {}},
		})))
	}
	for n := range len(rest) + 1 {
		r := resource.JoinParts(append([]*resource.Part{extensionHead(httpfilters.JWT, rest[:n])}, rest[:n]...)...)
		var e corev3.TypedExtensionConfig
		var m jwtv3.JwtAuthentication
		if err := proto.Unmarshal(r.AppendBytes(nil), &e); err != nil {
			t.Fatal(err)
		}
		if err := e.TypedConfig.UnmarshalTo(&m); err != nil {
			t.Fatal(err)
		}
		if e.Name != httpfilters.JWT || len(m.RequirementMap) != n {
			t.Errorf("%d parts: %v of %v", n, &m, &e)
		}
	}
}

// entriesWorld serves a host for each of two entries of the slot jwt: corp.test and bad.test.
func entriesWorld(t *testing.T) (w *world, bind int32) {
	bind = freePort(t)
	return entriesAt(t, bind), bind
}

func entriesAt(t *testing.T, bind int32) *world {
	w := newStatedWorld(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		for i, name := range []string{"corp", "bad"} {
			w.serve(b, i, 80, "http", name+".test", forward(name, prefix("/")))
			w.stated.routes.Set(b, testRuleKey(name).Route, plan.RouteSettings{Own: []plan.Setting{require(name)}})
		}
	})
	return w
}

// stateEntry states an entry of the slot jwt, by a policy of its name.
func (w *world) stateEntry(b *flow.Batch, id, keys string) {
	w.stated.shared.Set(b, plan.SharedKey{Gateway: testGateway, Slot: httpfilters.JWT, ID: id},
		plan.SharedEntry{From: model.Ref(model.KindOf("test", "Policy"), "shop", id), Value: testProvider(id, keys)})
}

const noKeys = `{"keys":[]}`

// TestARefusedEntry: what one policy states of a filter that keeps state, and a proxy refuses, is left out. What names
// it is refused (403); what names another entry goes on, and so do later edits.
func TestARefusedEntry(t *testing.T) {
	w, bind := entriesWorld(t)
	w.apply(func(b *flow.Batch) { w.stateEntry(b, "corp", testKeys) })
	w.serveLive(t)
	eventually(t, "corp asks for a token", func() bool { return statusAt(t, bind, "corp.test") == 401 })
	w.g.Apply("test", func(b *flow.Batch) { w.stateEntry(b, "bad", noKeys) })
	w.checkBadEntry(t, bind)
}

// TestRefusedEntriesAreTried: of several entries that are new at once, as all are at a start, only the bad ones are
// refused.
func TestRefusedEntriesAreTried(t *testing.T) {
	t.Run("at a start", func(t *testing.T) {
		w, bind := entriesWorld(t)
		w.apply(func(b *flow.Batch) { w.stateEntry(b, "corp", testKeys); w.stateEntry(b, "bad", noKeys) })
		w.serveLive(t)
		w.checkBadEntry(t, bind)
	})
	t.Run("in an edit", func(t *testing.T) {
		w, bind := entriesWorld(t)
		w.serveLive(t)
		eventually(t, "it serves", func() bool { return statusAt(t, bind, "corp.test") == 403 })
		w.g.Apply("test", func(b *flow.Batch) { w.stateEntry(b, "corp", testKeys); w.stateEntry(b, "bad", noKeys) })
		w.checkBadEntry(t, bind)
	})
	t.Run("after a restart", func(t *testing.T) { // beside a proxy that has something of a controller that is gone
		before, bind := entriesWorld(t)
		before.apply(func(b *flow.Batch) { before.stateEntry(b, "corp", testKeys); before.stateEntry(b, "other", testKeys) })
		var socket string
		var stop func()
		startEnvoy(t, func(s string) { socket, stop = s, before.feed(t, s) })
		eventually(t, "corp asks for a token", func() bool { return statusAt(t, bind, "corp.test") == 401 })
		stop()
		w := entriesAt(t, bind)
		w.apply(func(b *flow.Batch) { w.stateEntry(b, "corp", testKeys); w.stateEntry(b, "bad", noKeys) })
		w.feed(t, socket)
		w.checkBadEntry(t, bind)
	})
	t.Run("many", func(t *testing.T) {
		w, bind := entriesWorld(t)
		w.serveLive(t)
		eventually(t, "it serves", func() bool { return statusAt(t, bind, "corp.test") == 403 })
		w.g.Apply("test", func(b *flow.Batch) {
			for i := range 20 {
				w.stateEntry(b, fmt.Sprint("other", i), testKeys)
			}
			w.stateEntry(b, "corp", testKeys)
			w.stateEntry(b, "bad", noKeys)
		})
		w.checkBadEntry(t, bind)
	})
}

// checkBadEntry: the entry "bad" is refused, it alone, and what names it; when it is mended all serve.
func (w *world) checkBadEntry(t *testing.T, bind int32) {
	t.Helper()
	eventually(t, "the entry is told", func() bool { return w.refusals()["jwt/bad"] != "" })
	eventually(t, "corp asks for a token", func() bool { return statusAt(t, bind, "corp.test") == 401 })
	if got := w.refusals(); len(got) != 1 || !strings.Contains(got["jwt/bad"], "Jwks") {
		t.Errorf("refused: %v", got)
	}
	if got := statusAt(t, bind, "bad.test"); got != 403 {
		t.Errorf("what names the bad entry answers %d, want 403", got)
	}
	w.g.Apply("test", func(b *flow.Batch) { // a listener is edited
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""), testListener("other", "other.test"))
		w.serve(b, 1, 80, "other", "other.test", forward("other", prefix("/")))
	})
	eventually(t, "the edit is live", func() bool { return statusAt(t, bind, "other.test") == 200 })
	w.g.Apply("test", func(b *flow.Batch) { w.stateEntry(b, "bad", testKeys) })
	eventually(t, "the mended entry serves", func() bool { return statusAt(t, bind, "bad.test") == 401 })
	eventually(t, "nothing is refused any more", func() bool { return len(w.refusals()) == 0 })
	if got := statusAt(t, bind, "corp.test"); got != 401 {
		t.Errorf("what names the good entry answers %d, want 401", got)
	}
}
