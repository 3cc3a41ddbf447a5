package envoy

import (
	"strings"
	"testing"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// fieldsOnly is a Reader for what refers to nothing.
type fieldsOnly struct{ extend.Reader }

func (r fieldsOnly) Field(string) extend.Reader { return r }

// TestHeaderEdits: headers are changed as stated, percent signs of values are no commands, and every command that a
// format may have is one of Envoy's.
func TestHeaderEdits(t *testing.T) {
	text := func(s string) *string { return &s }
	edits := extend.HeaderEdits{
		Set: []extend.HeaderEdit{
			{Name: "X-Set", Value: text("100%REQ(:path)% %")}, {Name: "x-empty", Value: text("")},
		},
		Add: []extend.HeaderEdit{{Name: "x-add", Format: text("%REQ(x-one?:path):3%%%")}},
		AddIfAbsent: []extend.HeaderEdit{
			{Name: "x-one", Value: text("new")}, {Name: "x-two", Format: text("%CEL(request.method)%")},
		},
		Remove: []string{"X-Gone"},
	}
	for i, c := range extend.FormatCommands() {
		format := "%" + c + "%"
		edits.Set = append(edits.Set, extend.HeaderEdit{Name: "x-c" + strings.Repeat("i", i), Format: &format})
	}
	if problems := extend.ValidateHeaders(edits); len(problems) > 0 {
		t.Fatal(problems)
	}
	changes := extend.ReadHeaders(fieldsOnly{}, "headers", edits)
	changes = append(changes, extend.HeaderChange{Action: extend.SetHeader, Name: "x-secret", Secret: []byte("5%REQ(a)%")})
	w, bind := newStatedWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "*", forward("edit", prefix("/")))
		s := httpfilters.NewSetting(httpfilters.Transform, "edit",
			&mutationv3.HeaderMutation{Mutations: &mutationv3.Mutations{
				RequestMutations: extendenvoy.HeaderMutations(changes),
			}})
		s.From = testGateway
		w.stated.routes.Set(b, testRuleKey("edit").Route, plan.RouteSettings{Own: []plan.Setting{s}})
	})
	startProxy(t, w.resources())
	got := call{Host: "shop.example", URI: "/a", Header: map[string]string{
		"x-set": "old", "x-add": "a", "x-one": "first", "x-gone": "b",
	}}.do(t, bind).Seen.Header
	for name, want := range map[string]string{
		"X-Set": "100%REQ(:path)% %", "X-Empty": "", "X-Add": "a|fir%", "X-One": "first", "X-Two": "GET", "X-Gone": "",
		"X-Secret": "5%REQ(a)%",
	} {
		if values := strings.Join(got.Values(name), "|"); values != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
	if _, there := got["X-Empty"]; !there {
		t.Error("the empty header is not there")
	}
}
