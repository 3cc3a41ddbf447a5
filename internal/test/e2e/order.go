package e2e

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// Order holds that what a file's objects come to depends on the objects alone: not on the order in which they were
// made, nor on what a policy stated before; and that without its policies all is as if they had never been.
func (p *Plugged) Order(t *testing.T, path string) {
	t.Helper()
	docs := docsOf(t, path)
	policies := p.policiesIn(docs)
	if len(policies) == 0 {
		return
	}
	random := rand.New(rand.NewPCG(1, uint64(len(docs))))
	want := outcomeOf(p.WorldOf(t, docs))
	w := p.worldWith(t, func(*flow.Batch, *world.World) {})
	for _, i := range random.Perm(len(docs)) {
		p.turn(w, func(b *flow.Batch) { p.Put(b, w, docs[i]) })
	}
	compare(t, "made in another order", outcomeOf(w), want)

	all := p.perturbed(t, []string{path})
	for _, i := range policies {
		for _, docs := range all.edits(docs, i) {
			p.turn(w, func(b *flow.Batch) { p.Put(b, w, docs[i]) })
		}
		p.turn(w, func(b *flow.Batch) { p.Put(b, w, docs[i]) })
	}
	compare(t, "after edits that were taken back", outcomeOf(w), want)

	var without []map[string]any
	for i, doc := range docs {
		if !slices.Contains(policies, i) {
			without = append(without, doc)
		}
	}
	for _, i := range random.Perm(len(policies)) {
		p.turn(w, func(b *flow.Batch) { p.Drop(b, w, docs[policies[i]]) })
	}
	compare(t, "without the policies", outcomeOf(w), outcomeOf(p.WorldOf(t, without)))
}

func (p *Plugged) turn(w *world.World, edit func(*flow.Batch)) {
	w.Graph.Apply("edit", edit)
	w.Graph.Settle()
}

// policiesIn are the places of valid policies in a list.
func (p *Plugged) policiesIn(docs []map[string]any) (list []int) {
	for i, doc := range docs {
		for _, e := range p.Extensions {
			if doc["kind"] == e.Kind.String() && p.IsValid(doc) {
				list = append(list, i)
			}
		}
	}
	return list
}

// edits are the objects with other values in one of them.
func (p *perturbed) edits(docs []map[string]any, i int) (list [][]map[string]any) {
	const most = 6
	for at := range places(docs[i]["spec"]) {
		for _, other := range p.others(docs, i, at) {
			if len(list) < most {
				list = append(list, other)
			}
		}
	}
	return list
}

func docsOf(t testing.TB, path string) (docs []map[string]any) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if isObjects(f.Name) {
			docs = append(docs, ReadDocs(string(f.Data))...)
		}
	}
	return docs
}

// outcome is what objects come to.
type outcome struct {
	versions map[resource.Key]string
	findings []model.Finding
}

func outcomeOf(w *world.World) outcome {
	o := outcome{map[resource.Key]string{}, w.Findings()}
	w.Graph.View(func(v flow.View) {
		for _, c := range w.Outputs.Resources {
			for key, r := range flow.All(v, c) {
				o.versions[key] = r.Version
			}
		}
	})
	return o
}

func compare(t *testing.T, when string, got, want outcome) {
	t.Helper()
	for key := range maps.Keys(want.versions) {
		if got.versions[key] != want.versions[key] {
			t.Errorf("%s, %s %s is not the same", when, xdstypes.Name(key.Type), key.Name)
		}
	}
	if len(got.versions) != len(want.versions) {
		t.Errorf("%s, there are %d resources, want %d", when, len(got.versions), len(want.versions))
	}
	if !reflect.DeepEqual(got.findings, want.findings) {
		t.Errorf("%s, the findings are %+v, want %+v", when, got.findings, want.findings)
	}
}
