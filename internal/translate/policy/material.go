package policy

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/problem"
)

// usedMaterial is what was read of an object as certificates or a key set.
type usedMaterial struct {
	Key model.MaterialKey
	plan.Material
}

// Entry implements extend.Reader. It notes content that passed the check, so that this version is kept for as long as
// the entry is read.
func (r reader) Entry(
	of gatewayv1.ObjectReference, key string, check func(content []byte) error,
) (content []byte, found bool) {
	ref, content, why := r.m.lookups.Entry(r.c, r.ownerRef(), of, key)
	if why.IsZero() && len(content) == 0 {
		why = problem.Unusable{Reason: string(of.Kind) + "KeyNotFound",
			Message: fmt.Sprintf("the %s has no entry %s", of.Kind, key)}
	}
	mistake := why
	if why.IsZero() {
		if err := check(content); err != nil {
			mistake = problem.Unusable{Reason: "InvalidEntry",
				Message: fmt.Sprintf("entry %s of the %s: %v", key, of.Kind, err)}
		}
	}
	read := usedMaterial{Key: model.MaterialKey{Object: ref, Use: r.feature + "/" + key}}
	read.Text = content
	if mistake.IsZero() {
		r.keepMaterial(read)
		return content, true
	}
	last, kept := r.lastGood(read, mistake.Message, check)
	if ref == (model.ObjectRef{}) || !kept {
		return content, !r.reportUnusable(why)
	}
	r.problemCollector.addFinding(r.fieldPath, Finding{
		Policy: r.of, Condition: "ResolvedRefs", Reason: mistake.Reason, Message: last.Problem,
	})
	r.keepMaterial(last)
	return last.Text, true
}

// lastGood is what passed last in the place of what can't be used.
func (r reader) lastGood(
	read usedMaterial, problem string, check func(content []byte) error,
) (last usedMaterial, kept bool) {
	last = read
	last.Material.Material, kept = flow.Fetch(r.c, r.m.inputs.Sources.LastGood.Collection(), read.Key)
	last.Problem = problem + last.DescribeFallback()
	return last, kept && check(last.Text) == nil
}

// keepMaterial notes what is used, so that it is kept for as long as it is.
func (r reader) keepMaterial(used usedMaterial) {
	used.Users = []model.ObjectRef{r.ownerRef()}
	r.problemCollector.materials = append(r.problemCollector.materials, used)
}

// materialsOf has each material once: all policies that read it read the same. If an older version is used,
// BackendUsers are all of these policies.
func materialsOf(all *flow.Collection[settingsKey, notedNeeds]) *flow.Collection[model.MaterialKey, plan.Material] {
	byKey := flow.Group(all, "policy/materials", func(_ settingsKey, n notedNeeds) (keys []model.MaterialKey) {
		for _, own := range n.Materials {
			keys = append(keys, own.Key)
		}
		return keys
	}, flow.ByKey)
	return flow.Map(byKey, "policy/material",
		func(_ *flow.Ctx, k model.MaterialKey, members flow.Members[settingsKey, notedNeeds]) (out plan.Material,
			found bool) {
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
