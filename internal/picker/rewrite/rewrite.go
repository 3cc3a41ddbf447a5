package rewrite

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"cardea.dev/cardea/api/inference/v1alpha2"
)

// Rewrite is what one InferenceModelRewrite states.
type Rewrite struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"` // the first one that matches counts
}

// Rule replaces models.
type Rule struct {
	Models  []string `json:"models,omitempty"` // that requests ask for; none: every one, and requests that name none
	Targets []Target `json:"targets"`
}

// Target is a model that requests get.
type Target struct {
	Model  string `json:"model"`
	Weight int    `json:"weight,omitempty"` // of all targets' weights; 0 is 1
}

// Rewrites are those of a pool, the one with the highest precedence first.
type Rewrites []Rewrite

// Choice is the model that a request gets.
type Choice struct {
	Target
	By    string // the name of the Rewrite
	Total int    // of the weights of the rule's targets
}

// Of is the model for a request that asks for one; "": it names none. found is false if it gets what it asks for.
// A rule that names the model counts before those for every model, whatever their precedence; in one Rewrite, the first
// one that matches counts.
func (l Rewrites) Of(model string, random *rand.Rand) (c Choice, found bool) {
	var rule Rule
	for _, r := range l {
		i := slices.IndexFunc(r.Rules, func(r Rule) bool { return r.matches(model) })
		if i < 0 {
			continue
		}
		named := len(r.Rules[i].Models) > 0
		if named || !found {
			rule, c.By, found = r.Rules[i], r.Name, true
		}
		if named {
			break
		}
	}
	if !found {
		return c, false
	}
	for _, t := range rule.Targets {
		c.Total += t.weight()
	}
	n := random.IntN(c.Total)
	for _, t := range rule.Targets {
		if n -= t.weight(); n < 0 {
			c.Target = Target{t.Model, t.weight()}
			break
		}
	}
	return c, true
}

func (r Rule) matches(model string) bool {
	return len(r.Models) == 0 || model != "" && slices.Contains(r.Models, model)
}

func (t Target) weight() int { return max(1, t.Weight) }

// Object is an InferenceModelRewrite.
type Object struct {
	Name    string
	Created time.Time // zero: not known; such an object is younger than all others
	Spec    v1alpha2.InferenceModelRewriteSpec
}

// young is 1 for an object whose age is not known, else 0.
func young(o Object) int {
	if o.Created.IsZero() {
		return 1
	}
	return 0
}

// From reads the objects of a pool. Older ones have precedence, then those whose names come first. A rule without
// targets does not count.
func From(objects []Object) (list Rewrites) {
	objects = slices.SortedFunc(slices.Values(objects), func(a, b Object) int {
		return cmp.Or(young(a)-young(b), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	for _, o := range objects {
		r := Rewrite{Name: o.Name}
		for _, stated := range o.Spec.Rules {
			rule := Rule{}
			for _, m := range stated.Matches {
				rule.Models = append(rule.Models, m.Model.Value)
			}
			for _, t := range stated.Targets {
				rule.Targets = append(rule.Targets, Target{Model: t.ModelRewrite, Weight: int(t.Weight)})
			}
			if len(rule.Targets) > 0 {
				r.Rules = append(r.Rules, rule)
			}
		}
		if len(r.Rules) > 0 {
			list = append(list, r)
		}
	}
	return list
}
