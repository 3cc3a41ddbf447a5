package policy

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// material is what was read of an object as certificates or a key set.
type material struct {
	Key model.MaterialKey
	plan.Material
}

// Entry implements extend.Reader. What passed is noted here, so that it is kept for as long as it is read.
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
	read.Users, read.Text = []model.ObjectRef{r.owner()}, content
	if problem != (Unusable{}) {
		last, kept := flow.Fetch(r.c, r.m.in.Sources.LastGood.Collection(), read.Key)
		if ref == (model.ObjectRef{}) || !kept || check(last.Text) != nil {
			return content, !r.unusable(why)
		}
		read.Material.Material, read.Problem = last, problem.Message+last.Instead()
		r.problems.add(r.path, Finding{
			Policy: r.of, Condition: "ResolvedRefs", Reason: problem.Reason, Message: read.Problem,
		})
	}
	r.problems.materials = append(r.problems.materials, read)
	return read.Text, true
}

// materialsOf has each material once: those who read it read the same. Of an older version it has all policies.
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
