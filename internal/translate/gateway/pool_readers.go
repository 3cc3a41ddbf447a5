package gateway

import (
	"fmt"

	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// forPickers warns of objects that pickers read (poolRef) and that have no effect: most likely a typing error, which no
// picker would tell.
func (m *Meaning) forPickers() *flow.Collection[model.ObjectRef, []model.Finding] {
	return flow.Merge("for pickers",
		flow.From(poolRefs(m, model.KindInferenceObjective,
			func(s v1alpha2.InferenceObjectiveSpec) v1alpha2.PoolObjectReference { return s.PoolRef }), itself),
		flow.From(poolRefs(m, model.KindModelRewrite,
			func(s v1alpha2.InferenceModelRewriteSpec) v1alpha2.PoolObjectReference { return s.PoolRef }), itself))
}

func poolRefs[S any](
	m *Meaning, kind model.Kind, poolRef func(S) v1alpha2.PoolObjectReference,
) *flow.Collection[model.ObjectRef, []model.Finding] {
	objects := input.Of[S](m.in.Sources, kind).Collection()
	return flow.Map(objects, "for pickers/"+kind.String(),
		func(c *flow.Ctx, ref model.ObjectRef, o input.Object[S]) ([]model.Finding, bool) {
			field, why := m.noEffect(c, ref, poolRef(*o.Spec))
			return []model.Finding{{
				Object: ref, Severity: model.Warning, Field: "spec.poolRef" + field, Message: why + ", so this has no effect",
			}}, why != ""
		})
}

// noEffect says why nobody reads an object that names a pool; "": somebody may.
func (m *Meaning) noEffect(
	c *flow.Ctx, ref model.ObjectRef, to v1alpha2.PoolObjectReference,
) (field, why string) {
	named, is := to.Pool(ref.Namespace())
	if !is {
		return "", fmt.Sprintf("kind %s of group %q is not that of an InferencePool (%s)", to.Kind, to.Group,
			model.KindInferencePool.Group())
	}
	pool := model.Ref(model.KindInferencePool, named.Namespace, named.Name)
	switch p, found := flow.Fetch(c, m.pools, pool); {
	case !found:
		return ".name", absent(c, m.in.Broken.Collection(), pool)
	case !p.Pool.Picked():
		return "", fmt.Sprintf("%s has no picker", pool)
	}
	return "", ""
}
