package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lifecycle"
)

func gatewayOf(class, listener string) string {
	return strings.Replace(gateway(listener, "s"), "cardea", class, 1)
}

func class(name, controller string) string {
	return "---\napiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: " + name +
		"}\nspec: {controllerName: " + controller + "}\n"
}

// classOf is the class of the Gateway that is published, and its first listener; "" if there is none.
func (s *still) classOf() string {
	said := ""
	s.graph.View(func(v flow.View) {
		if o, found := flow.Get(v, s.sources.Gateways.Collection(), model.Ref(model.KindGateway, "shop", "gw")); found {
			said = string(o.Spec.GatewayClassName) + " " + string(o.Spec.Listeners[0].Name)
		}
	})
	return said
}

// A Gateway whose text names a class that does not exist stays as it was, until the class is there, whosever it is, or
// the name is mended. One that was never of a class that exists has nothing to stay as.
func TestGatewayWithoutClass(t *testing.T) {
	const other = "example.com/other"
	for name, story := range map[string][]struct {
		gateway, classes string
		want             string
		problem          string // of the Gateway; "" if there is none
	}{
		"mistyped and mended": {
			{gateway: gatewayOf("cardea", "a"), want: "cardea a"},
			{gateway: gatewayOf("cadrea", "a"), want: "cardea a",
				problem: "spec.gatewayClassName: GatewayClass cadrea does not exist; did you mean cardea?; its last good version"},
			{gateway: gatewayOf("cadrea", "b"), want: "cardea a", problem: "did you mean cardea?"},
			{gateway: gatewayOf("cardea", "b"), want: "cardea b"},
		},
		"mistyped and taken back": {
			{gateway: gatewayOf("cardea", "a"), want: "cardea a"},
			{gateway: gatewayOf("nginx", "a"), want: "cardea a", problem: "GatewayClass nginx does not exist; there is cardea;"},
			{gateway: gatewayOf("cardea", "a"), want: "cardea a"},
		},
		"mistyped and deleted": {
			{gateway: gatewayOf("cardea", "a"), want: "cardea a"},
			{gateway: gatewayOf("cadrea", "a"), want: "cardea a", problem: "did you mean cardea?"},
			{gateway: "# nothing\n"},
		},
		"another class that comes later": {
			{gateway: gatewayOf("cardea", "a"), want: "cardea a"},
			{gateway: gatewayOf("mine", "b"), want: "cardea a", problem: "GatewayClass mine does not exist"},
			{gateway: gatewayOf("mine", "b"), classes: class("mine", model.ControllerName), want: "mine b"},
		},
		"another controller's": {
			{gateway: gatewayOf("cardea", "a"), classes: class("theirs", other), want: "cardea a"},
			{gateway: gatewayOf("theirs", "a"), classes: class("theirs", other), want: "theirs a"},
		},
		"a class with a mistake": {
			{gateway: gatewayOf("cardea", "a"), want: "cardea a"},
			{gateway: gatewayOf("mine", "b"), classes: class("mine", "no-domain"), want: "cardea a",
				problem: "GatewayClass mine is in classes.yaml:5, but has a mistake;"},
		},
		"mistyped at first": {
			{gateway: gatewayOf("cadrea", "a"), want: "cadrea a"}, // the meaning tells
			{gateway: gatewayOf("cadre", "b"), want: "cadre b"},
			{gateway: gatewayOf("cardea", "b"), want: "cardea b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStill(t)
			s.must(os.MkdirAll(s.dir, 0o755))
			for i, step := range story {
				s.write("gateway.yaml", step.gateway+secret("s"))
				s.write("classes.yaml", step.classes+service("a"))
				s.look(lookRequest{all: true})
				s.later()
				s.later()
				if got := s.classOf(); got != step.want {
					t.Errorf("step %d: %q is published, want %q", i, got, step.want)
				}
				told := slices.DeleteFunc(s.folder.Problems(), func(p Problem) bool { return p.Ref.Kind() != model.KindGateway })
				if step.problem == "" && len(told) > 0 || step.problem != "" &&
					(len(told) != 1 || told[0].Severity != model.Error || !strings.Contains(told[0].String(), step.problem)) {
					t.Errorf("step %d: %v, want %q", i, told, step.problem)
				}
				older := s.folder.OutdatedObjects()[model.Ref(model.KindGateway, "shop", "gw")]
				if waits := "the newest version waits for GatewayClass "; strings.HasPrefix(older, waits) != (step.problem != "") {
					t.Errorf("step %d: an older version serves: %q", i, older)
				}
			}
			s.must(os.Remove(filepath.Join(s.dir, "gateway.yaml")))
			s.look(lookRequest{all: true})
			s.later()
			if n := s.folder.objects.Count(lifecycle.Unanswered); s.classOf() != "" || n > 0 {
				t.Errorf("when it is deleted %q is published; %d wait", s.classOf(), n)
			}
		})
	}
}
