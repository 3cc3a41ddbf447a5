package explain

import (
	"fmt"
	"slices"
	"testing"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

// TestTheEditThatBroughtIt: a rule's edit is the one that brought the rule as it is, not one that came later and changed another rule; where the
// edits are not remembered the last one of the object is told as that. What became of the object names the rules by their place in it.
func TestTheEditThatBroughtIt(t *testing.T) {
	r := newRig(t)
	ref := model.Ref(model.KindHTTPRoute, "default", "two")
	edit := func(by, second string) {
		r.edit = &model.Edit{By: by}
		r.apply(fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: two}, spec: {parentRefs: [{name: g0}], "+
			"hostnames: [two.ex], rules: [{matches: [{path: {value: /a}}]}, {matches: [{path: {value: %s}}]}]}}", second))
		r.World.Graph.View(func(v flow.View) {
			meta, rev, _ := r.Sources.Of(ref.Kind()).Meta(v, ref)
			r.history.read(ref, meta, flow.Turn{Rev: rev})
		})
	}
	tells := func(e *Explainer, path string) (brought, last string) {
		story, err := e.Request(Question{URL: "http://two.ex" + path, Gateway: "default/g0"})
		if err != nil || len(story.Rules) != 1 {
			t.Fatalf("%s: %v, %+v", path, err, story)
		}
		for to, edit := range map[*string]*Edit{&brought: story.Rules[0].Edit, &last: story.Rules[0].LastEdit} {
			if edit != nil {
				*to = edit.By
			}
		}
		return brought, last
	}
	edit("ann", "/b")
	edit("bob", "/c")
	edit("eve", "/c") // it changes nothing of the rules
	for path, want := range map[string]string{"/a": "ann", "/c": "bob"} {
		if brought, last := tells(r.Explainer, path); brought != want || last != "" {
			t.Errorf("%s was brought by %q (last edit %q), want %q", path, brought, last, want)
		}
		if brought, last := tells(New(Config{World: r.World}), path); brought != "" || last != "eve" {
			t.Errorf("%s, nothing remembered: brought by %q, last edit %q, want eve's as the last", path, brought, last)
		}
	}
	o, _ := r.Object(ref)
	var fields []string
	for _, m := range o.Made {
		fields = append(fields, m.Field)
	}
	slices.Sort(fields)
	if !slices.Equal(fields, []string{"spec.rules[0]", "spec.rules[1]"}) {
		t.Errorf("became %+v, want the two rules", o.Made)
	}
}

// TestCostOfAnObject: of all that there is, what may have something of the object is looked at, and nothing is missed.
func TestCostOfAnObject(t *testing.T) {
	r := newRig(t)
	r.apply(route("lost", "g7", "lost.ex", "/", "nowhere"))
	all := map[model.ObjectRef]int{} // fragments of each object
	r.World.Graph.View(func(v flow.View) {
		for _, c := range r.Outputs.Resources {
			for _, value := range flow.All(v, c) {
				for _, p := range value.Parts {
					for _, f := range p.Fragments {
						all[f.Origin.Object]++
					}
				}
			}
		}
	})
	for kind, name := range map[model.Kind]string{
		model.KindHTTPRoute: "g7-3", model.KindGateway: "g7", model.KindXBackend: "app", model.KindGatewayClass: "cardea",
	} {
		ref := model.Ref(kind, "default", name)
		o := &became{ref: ref}
		if err := r.ask(o); err != nil || len(o.places) != all[ref] {
			t.Errorf("%v, %s: %d places, want %d", err, ref, len(o.places), all[ref])
		}
		for _, held := range o.resources {
			if kind == model.KindHTTPRoute && (held.key.Type != resource.Routes || held.key.Gateway.Name() != "g7") {
				t.Errorf("%s: %v is looked at", ref, held.key)
			}
		}
	}
	told := r.World.Findings()
	if len(told) == 0 {
		t.Fatal("no finding")
	}
	for ref := range all {
		want := slices.DeleteFunc(slices.Clone(told), func(f model.Finding) bool { return f.Object != ref })
		if got := r.World.FindingsOf(ref); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", ref, got, want)
		}
	}
}
