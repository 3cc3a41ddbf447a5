package eppchild

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// TestWhoIsTold: an edit makes texts for the pools that it is about, and for no others.
func TestWhoIsTold(t *testing.T) {
	r := open(t)
	a, b := pool("a"), pool("b")
	r.want(a)
	r.want(b)
	r.endpoints(a, 1)
	batch, alias := ref(model.KindInferenceObjective, "batch"), ref(model.KindModelRewrite, "alias")
	p := newPools(r.config)
	defer p.stopFollowing()
	for _, step := range []struct {
		what string
		edit func()
		told string // the pools
		a    string // what a's picker reads
	}{
		{"all is new", func() {}, "a b", `{"endpoints":[{"address":"10.0.0.1:1"}]}`},
		{"others change", func() {
			r.endpoints(ref(model.KindService, "web"), 80)
			r.reportState(b, &model.PickerState{Problem: "it has none"})
			r.apply(func(batch *flow.Batch) {
				key := plan.BackendKey{Gateway: ref(model.KindGateway, "web"), Backend: model.PickerKey(a)}
				r.backends.Set(batch, key, model.Backend{})
			})
		}, "", `{"endpoints":[{"address":"10.0.0.1:1"}]}`},
		{"endpoints, one of them twice", func() { r.endpoints(a, 3, 2, 3) }, "a",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}]}`},
		{"an objective comes", func() { r.objective(batch, -1, "", "a") }, "a",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}],"objectives":{"batch":-1}}`},
		{"it is another pool's", func() { r.objective(batch, -1, "", "b") }, "a b",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}]}`},
		{"it is another kind's", func() { r.objective(batch, -1, "Service", "a") }, "b",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}]}`},
		{"it goes", func() { r.apply(func(b *flow.Batch) { r.objectives.Delete(b, batch) }) }, "",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}]}`},
		{"a rewrite comes", func() { r.rewrite(alias, "a") }, "a",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}],` +
				`"rewrites":[{"name":"alias","rules":[{"models":["m"],"targets":[{"model":"n"}]}]}]}`},
		{"it is b's", func() { r.rewrite(alias, "b") }, "a b",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}]}`},
		{"it goes, too", func() { r.apply(func(b *flow.Batch) { r.rewrites.Delete(b, alias) }) }, "b",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}]}`},
		{"b wants none", func() { r.letGo(b) }, "b",
			`{"endpoints":[{"address":"10.0.0.1:2"},{"address":"10.0.0.1:3"}]}`},
	} {
		step.edit()
		r.config.Graph.Settle()
		var changed map[model.ObjectRef]bool
		r.config.Graph.View(func(v flow.View) { changed = p.readChanges(v) })
		var told []string
		for pool := range changed {
			told = append(told, pool.Name())
		}
		slices.Sort(told)
		if got := strings.Join(told, " "); got != step.told {
			t.Errorf("%s: %q are told, want %q", step.what, got, step.told)
		}
		if got := strings.TrimSpace(p.membersJSON(a)); got != step.a {
			t.Errorf("%s: a reads %s, want %s", step.what, got, step.a)
		}
	}
	if got := fmt.Sprint(len(p.endpoints), len(p.priorities), len(p.rewrites), len(p.poolOf)); got != "1 0 0 0" {
		t.Errorf("%s entries are kept, want 1 0 0 0", got)
	}
}

// objective sets an InferenceObjective, which names an object of a kind; "" is an InferencePool.
func (r *rig) objective(is model.ObjectRef, priority int, kind, name string) {
	r.apply(func(b *flow.Batch) {
		r.objectives.Set(b, is, input.Object[v1alpha2.InferenceObjectiveSpec]{Spec: &v1alpha2.InferenceObjectiveSpec{
			Priority: &priority, PoolRef: v1alpha2.PoolObjectReference{Kind: kind, Name: name},
		}})
	})
}

// rewrite sets an InferenceModelRewrite of a pool.
func (r *rig) rewrite(is model.ObjectRef, pool string) {
	r.apply(func(b *flow.Batch) {
		r.rewrites.Set(b, is, input.Object[v1alpha2.InferenceModelRewriteSpec]{Spec: &v1alpha2.InferenceModelRewriteSpec{
			PoolRef: v1alpha2.PoolObjectReference{Name: pool}, Rules: []v1alpha2.InferenceModelRewriteRule{{
				Matches: []v1alpha2.ModelRewriteMatch{{Model: v1alpha2.ModelMatch{Value: "m"}}},
				Targets: []v1alpha2.TargetModel{{ModelRewrite: "n"}},
			}},
		}})
	})
}
