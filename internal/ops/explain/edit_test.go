package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// two is a route that people edit.
type two struct {
	*rig
	reader *historyReader
}

var twoRef = model.Ref(model.KindHTTPRoute, "default", "two")

// born is when it was made in a cluster.
var born = time.Unix(1_000, 0)

func newTwo(t *testing.T) *two {
	r := newRig(t, 1)
	return &two{r, r.newReader()}
}

// edit is an edit of the second rule; a file's is by nobody.
func (r *two) edit(by string, generation int64, second string) {
	r.meta = model.Meta{Generation: generation, Created: born,
		LastEdit: &model.LastEdit{By: by, At: born.Add(time.Duration(generation-1) * time.Minute)}}
	if strings.HasSuffix(by, ".yaml") {
		r.meta.Created, r.meta.LastEdit = time.Time{}, &model.LastEdit{Where: by}
	}
	r.apply(fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: two}, spec: "+
		"{parentRefs: [{name: g0}], "+
		"hostnames: [two.ex], rules: [{matches: [{path: {value: /a}}], backendRefs: [{group: gateway.networking.x-k8s.io, "+
		"kind: XBackend, name: late}]}, "+
		"{matches: [{path: {value: %s}}]}]}}", second))
}

// tells is what is told of a rule: "ann", or of the last edit "last: ann".
func (r *two) tells(e *Explainer, path string) string {
	r.t.Helper()
	story, err := e.ExplainRequest(Question{URL: "http://two.ex" + path, Gateway: "default/g0"})
	if err != nil || len(story.Rules) != 1 {
		r.t.Fatalf("%s: %v, %+v", path, err, story)
	}
	told := ""
	for before, edit := range map[string]*Edit{"": story.Rules[0].Edit, "last: ": story.Rules[0].LastEdit} {
		if edit != nil {
			told += before + edit.By + edit.Where
		}
	}
	return told
}

// TestTheEditThatBroughtIt: a rule's edit is the one that brought the rule as it is, not one that came later and
// changed another rule; where that is not known the last one of the object is told as that. What became of the object
// names the rules by their place in it.
func TestTheEditThatBroughtIt(t *testing.T) {
	look := func(r *two) { r.reader.readChanges() }
	edit := func(by string, generation int64, second string) func(*two) {
		return func(r *two) { r.edit(by, generation, second) }
	}
	for name, c := range map[string]struct {
		steps []func(*two)
		want  map[string]string
	}{
		"one after the other": {
			[]func(*two){look, edit("ann", 1, "/b"), look, edit("bob", 2, "/c"), look, edit("eve", 2, "/c"), look},
			map[string]string{"/a": "ann", "/c": "bob"},
		},
		"not looked at yet": {
			[]func(*two){look, edit("ann", 1, "/b"), look, edit("bob", 2, "/c")},
			map[string]string{"/a": "ann", "/c": "last: bob"},
		},
		"several at one look": {
			[]func(*two){look, edit("ann", 1, "/b"), look, edit("bob", 2, "/c"), edit("eve", 2, "/c"), look},
			map[string]string{"/a": "ann", "/c": "last: eve"},
		},
		"several at one look, the last one changes it": {
			[]func(*two){look, edit("ann", 1, "/b"), look, edit("bob", 2, "/b"), edit("eve", 3, "/c"), look},
			map[string]string{"/a": "ann", "/c": "last: eve"},
		},
		"several in one turn": { // of bob's nothing is seen
			[]func(*two){look, edit("ann", 1, "/b"), look, edit("eve", 3, "/c"), look},
			map[string]string{"/a": "ann", "/c": "last: eve"},
		},
		"made and edited before the start": {
			[]func(*two){edit("eve", 2, "/c"), look},
			map[string]string{"/a": "last: eve", "/c": "last: eve"},
		},
		"and after it": {
			[]func(*two){edit("eve", 2, "/c"), look, edit("bob", 3, "/d"), look},
			map[string]string{"/a": "last: bob", "/d": "bob"},
		},
		"made before the start, and never edited": {
			[]func(*two){edit("ann", 1, "/c"), look},
			map[string]string{"/a": "ann", "/c": "ann"},
		},
		"edited before it is read, after the start": { // as a route is whose Gateway comes
			[]func(*two){look, edit("eve", 2, "/c"), look},
			map[string]string{"/a": "last: eve", "/c": "last: eve"},
		},
		"another object changes it": {
			[]func(*two){look, edit("ann", 1, "/b"), look, edit("bob", 2, "/c"), look,
				func(r *two) { r.apply(xbackend("late")) }, look},
			map[string]string{"/a": "last: bob", "/c": "bob"},
		},
		"another object changes what one person made": {
			[]func(*two){look, edit("ann", 1, "/b"), look, func(r *two) { r.apply(xbackend("late")) }, look,
				edit("bob", 2, "/c"), look},
			map[string]string{"/a": "ann", "/c": "bob"},
		},
		"a file that was there": {
			[]func(*two){edit("a.yaml", 1, "/c"), look, edit("b.yaml", 2, "/d"), look},
			map[string]string{"/a": "last: b.yaml", "/d": "b.yaml"},
		},
		"a file that comes": {
			[]func(*two){look, edit("a.yaml", 1, "/c"), look, edit("b.yaml", 2, "/d"), look},
			map[string]string{"/a": "a.yaml", "/d": "b.yaml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTwo(t)
			for _, step := range c.steps {
				step(r)
			}
			for path, want := range c.want {
				if got := r.tells(r.Explainer, path); got != want {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
		})
	}

	r := newTwo(t)
	r.edit("ann", 1, "/b")
	r.edit("eve", 2, "/c")
	if got := r.tells(New(Config{World: r.World}), "/a"); got != "last: eve" {
		t.Errorf("nothing remembered: %q", got)
	}
	o, _ := r.ExplainObject(twoRef)
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
	r := newRig(t, gateways)
	r.apply(newRoute("lost", "g7", "lost.ex", "/", "nowhere"))
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
		o := &objectQuestion{ref: ref}
		if err := r.answerQuestion(o); err != nil || len(o.places) != all[ref] {
			t.Errorf("%v, %s: %d places, want %d", err, ref, len(o.places), all[ref])
		}
		for _, held := range o.resources {
			if kind == model.KindHTTPRoute && (held.key.Type != xdstypes.Routes || held.key.Gateway.Name() != "g7") {
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
