package rewrite_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/epp/rewrite"
)

func all(to string) rewrite.Rule { return rewrite.Rule{Targets: []rewrite.Target{{Model: to}}} }

func of(to string, models ...string) rewrite.Rule {
	r := all(to)
	r.Models = models
	return r
}

// TestOf: a rule that names the model goes before those for all; else the first one that matches counts.
func TestOf(t *testing.T) {
	fallback := rewrite.Rewrite{Name: "fallback", Rules: []rewrite.Rule{all("default")}}
	aliases := rewrite.Rewrite{Name: "aliases", Rules: []rewrite.Rule{of("b1", "b", "beta"), of("b2", "b")}}
	closed := rewrite.Rewrite{Name: "closed", Rules: []rewrite.Rule{all("c"), of("b3", "b")}}
	for _, c := range []struct {
		name    string
		list    rewrite.Rewrites
		model   string
		to, by  string
		nothing bool
	}{
		{name: "no rules", model: "a", nothing: true},
		{name: "an alias", list: rewrite.Rewrites{aliases}, model: "beta", to: "b1", by: "aliases"},
		{name: "the first rule", list: rewrite.Rewrites{aliases}, model: "b", to: "b1", by: "aliases"},
		{name: "another model", list: rewrite.Rewrites{aliases}, model: "a", nothing: true},
		{name: "no model", list: rewrite.Rewrites{aliases}, nothing: true},
		{name: "no model, with a fallback", list: rewrite.Rewrites{aliases, fallback}, to: "default", by: "fallback"},
		{name: "a name before all", list: rewrite.Rewrites{fallback, aliases}, model: "b", to: "b1", by: "aliases"},
		{name: "behind all", list: rewrite.Rewrites{fallback, closed}, model: "b", to: "b3", by: "closed"},
		{name: "the first for all", list: rewrite.Rewrites{fallback, closed}, model: "x", to: "default", by: "fallback"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, found := c.list.ChooseModel(c.model, rand.New(rand.NewPCG(1, 2)))
			if found == c.nothing || got.Model != c.to || got.By != c.by {
				t.Errorf("%+v, %v; want %s by %s", got, found, c.to, c.by)
			}
		})
	}
}

// TestWeights: targets get their parts.
func TestWeights(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		targets []rewrite.Target
		want    int // of 10,000 for the first target
		total   int
	}{
		"stated": {[]rewrite.Target{{Model: "a", Weight: 90}, {Model: "b", Weight: 10}}, 9000, 100},
		"unset":  {[]rewrite.Target{{Model: "a"}, {Model: "b"}, {Model: "c"}, {Model: "d"}}, 2500, 4},
	} {
		t.Run(name, func(t *testing.T) {
			list, first := rewrite.Rewrites{{Rules: []rewrite.Rule{{Targets: c.targets}}}}, 0
			for range 10_000 {
				got, _ := list.ChooseModel("m", random)
				if got.Total != c.total {
					t.Fatalf("weights of %d, want %d", got.Total, c.total)
				}
				if got.Model == "a" {
					first++
				}
			}
			if first < c.want-200 || first > c.want+200 {
				t.Errorf("%d of 10,000, want %d", first, c.want)
			}
		})
	}
}

// TestFrom: older objects come first; those without an age, last, by their names.
func TestFrom(t *testing.T) {
	spec := func(to string) v1alpha2.InferenceModelRewriteSpec {
		return v1alpha2.InferenceModelRewriteSpec{Rules: []v1alpha2.InferenceModelRewriteRule{{
			Matches: []v1alpha2.ModelRewriteMatch{{Model: v1alpha2.ModelMatch{Value: "m"}}},
			Targets: []v1alpha2.TargetModel{{ModelRewrite: to, Weight: 3}},
		}, {}}}
	}
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	got := rewrite.FromObjects([]rewrite.Object{
		{Name: "b", Spec: spec("4")}, {Name: "a", Spec: spec("3")}, {Name: "c", Created: day(2), Spec: spec("2")},
		{Name: "d", Created: day(1), Spec: spec("1")}, {Name: "empty"},
	})
	var want rewrite.Rewrites
	for _, r := range []struct{ name, to string }{{"d", "1"}, {"c", "2"}, {"a", "3"}, {"b", "4"}} {
		want = append(want, rewrite.Rewrite{Name: r.name, Rules: []rewrite.Rule{
			{Models: []string{"m"}, Targets: []rewrite.Target{{Model: r.to, Weight: 3}}},
		}})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
