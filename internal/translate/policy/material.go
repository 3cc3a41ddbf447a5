package policy

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// material is what was read of an object as certificates or a key set.
type material struct {
	Key model.MaterialKey
	plan.Material
}

// Entry implements extend.Reader. It notes content that passed the check, so that this version is kept for as long as
// the entry is read.
func (r reader) Entry(
	of gatewayv1.ObjectReference, key string, check func(content []byte) error,
) (content []byte, found bool) {
	ref, content, why := r.m.lookups.Entry(r.c, r.owner(), of, key)
	if why == (Unusable{}) && len(content) == 0 {
		why = Unusable{string(of.Kind) + "KeyNotFound", fmt.Sprintf("the %s has no entry %s", of.Kind, key)}
	}
	problem := why
	if why == (Unusable{}) {
		if err := check(content); err != nil {
			problem = Unusable{"InvalidEntry", fmt.Sprintf("entry %s of the %s: %v", key, of.Kind, err)}
		}
	}
	read := material{Key: model.MaterialKey{Object: ref, Use: r.feature + "/" + key}}
	read.Text = content
	if problem == (Unusable{}) {
		r.keep(read)
		return content, true
	}
	last, kept := r.instead(read, problem.Message, check)
	if ref == (model.ObjectRef{}) || !kept {
		return content, !r.unusable(why)
	}
	r.problems.add(r.path, Finding{
		Policy: r.of, Condition: "ResolvedRefs", Reason: problem.Reason, Message: last.Problem,
	})
	r.keep(last)
	return last.Text, true
}

// instead is what passed last in the place of what can't be used.
func (r reader) instead(read material, problem string, check func(content []byte) error) (last material, kept bool) {
	last = read
	last.Material.Material, kept = flow.Fetch(r.c, r.m.in.Sources.LastGood.Collection(), read.Key)
	last.Problem = problem + last.Instead()
	return last, kept && check(last.Text) == nil
}

// keep notes what is used, so that it is kept for as long as it is.
func (r reader) keep(used material) {
	used.Users = []model.ObjectRef{r.owner()}
	r.problems.materials = append(r.problems.materials, used)
}

// materialsOf has each material once: all policies that read it read the same. If an older version is used, Users are
// all of these policies.
func materialsOf(all *flow.Collection[place, noted]) *flow.Collection[model.MaterialKey, plan.Material] {
	byKey := flow.Group(all, "policy/materials", func(_ place, n noted) (keys []model.MaterialKey) {
		for _, own := range n.Materials {
			keys = append(keys, own.Key)
		}
		return keys
	}, flow.ByKey)
	return flow.Map(byKey, "policy/material",
		func(_ *flow.Ctx, k model.MaterialKey, members flow.Members[place, noted]) (out plan.Material, found bool) {
			for _, n := range members.All() {
				for _, own := range n.Materials {
					if own.Key == k {
						out.Material, out.Problem, found = own.Material.Material, own.Problem, true
						out.Users = append(out.Users, own.Users...)
					}
				}
				if out.Problem == "" {
					return plan.Material{Material: out.Material}, found
				}
			}
			slices.SortFunc(out.Users, model.ObjectRef.Compare)
			out.Users = slices.Compact(out.Users)
			return out, found
		})
}
