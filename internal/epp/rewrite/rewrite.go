package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"cardea.dev/cardea/api/inference/v1alpha2"
)

// Rewrite is what one InferenceModelRewrite states.
type Rewrite struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"`
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

// Rewrites are those of a pool, the one with the highest precedence first. Rules that name a model count before those
// for every model, in one Rewrite, too: so the picker of the extension does.
type Rewrites []Rewrite

// Choice is the model that a request gets.
type Choice struct {
	Target
	By    string // the name of the Rewrite
	Total int    // of the weights of the rule's targets
}

// ChooseModel chooses the model of a request; model is the one that it asks for ("": none). found is false if no rule
// is for it.
func (l Rewrites) ChooseModel(model string, random *rand.Rand) (c Choice, found bool) {
	rule, by, found := l.findRule(func(r Rule) bool { return model != "" && slices.Contains(r.Models, model) })
	if !found {
		rule, by, found = l.findRule(func(r Rule) bool { return len(r.Models) == 0 })
	}
	if !found {
		return c, false
	}
	c.By = by
	for _, t := range rule.Targets {
		c.Total += t.effectiveWeight()
	}
	n := random.IntN(c.Total)
	for _, t := range rule.Targets {
		if n -= t.effectiveWeight(); n < 0 {
			c.Target = Target{t.Model, t.effectiveWeight()}
			break
		}
	}
	return c, true
}

// findRule is the first one that is for something, and the name of its Rewrite.
func (l Rewrites) findRule(is func(Rule) bool) (rule Rule, by string, found bool) {
	for _, r := range l {
		if i := slices.IndexFunc(r.Rules, is); i >= 0 {
			return r.Rules[i], r.Name, true
		}
	}
	return rule, "", false
}

// maxWeight is that of an InferenceModelRewrite.
const maxWeight = 1_000_000

// CheckTargets says what is wrong with a rule of a file; those of FromObjects are right.
func (r Rule) CheckTargets() error {
	for _, t := range r.Targets {
		if t.Model == "" || t.Weight < 0 || t.Weight > maxWeight {
			return fmt.Errorf("a target needs a model, and a weight of 1 to %d or none", maxWeight)
		}
	}
	if len(r.Targets) == 0 {
		return errors.New("it has no targets")
	}
	return nil
}

func (t Target) effectiveWeight() int { return max(1, t.Weight) }

// Object is an InferenceModelRewrite.
type Object struct {
	Name    string
	Created time.Time // zero: not known; such an object is younger than all others
	Spec    v1alpha2.InferenceModelRewriteSpec
}

// unknownAge is 1 for an object of unknown age, else 0.
func unknownAge(o Object) int {
	if o.Created.IsZero() {
		return 1
	}
	return 0
}

// FromObjects reads the objects of a pool. Older ones have precedence, then the first ones by name. A rule without
// targets does not count.
func FromObjects(objects []Object) (list Rewrites) {
	objects = slices.SortedFunc(slices.Values(objects), func(a, b Object) int {
		return cmp.Or(unknownAge(a)-unknownAge(b), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
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
