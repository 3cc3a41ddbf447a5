package backend

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/problem"
)

// ownPicker has Cardea's picker chosen for a pool that names none, if pickers are run and the pool's annotation does
// not turn it off. It fails open: no request fails because the picker does not run. Unless the pool says otherwise, the
// picker gets the first part of a body: then no body is lost when it ends, and it learns when an answer ends.
func (all *Backends) ownPicker(
	c *flow.Ctx, ref model.ObjectRef, wanted string, p *inferencePool,
) (problems []problem.Problem) {
	where := fmt.Sprintf("metadata.annotations[%s]", inferencev1.PickerAnnotation)
	if wanted != "" && wanted != inferencev1.NoPicker {
		problems = []problem.Problem{{Severity: model.Warning, Field: where, Message: fmt.Sprintf(
			"the value %q is unknown and is ignored; use %s, or leave it out", wanted, inferencev1.NoPicker)}}
	}
	environment, _ := flow.Fetch(c, all.in.Environment.Collection(), model.ObjectRef{})
	if !environment.Pickers || wanted == inferencev1.NoPicker {
		return append(problems, problem.Problem{Severity: model.Info, Field: "spec.endpointPickerRef",
			Message: "the pool has no picker: each request goes to the endpoint with the fewest requests"})
	}
	p.Pool = model.Pool{Own: true, FailOpen: true, Partial: true, Picker: model.OwnPickerService(ref)}
	p.Own, _ = flow.Fetch(c, all.in.Pickers.Collection(), ref)
	if p.Own.Problem != "" {
		problems = append(problems, problem.Problem{Severity: model.Warning, Condition: inferencev1.ConditionResolvedRefs,
			Reason: inferencev1.ReasonResolvedRefs, Field: "spec.endpointPickerRef",
			Message: p.Own.Problem + "; " + p.describeFallback()})
	}
	return problems
}

// tokenField is where a pool names the Secret with the token for metrics.
var tokenField = fmt.Sprintf("metadata.annotations[%s]", inferencev1.MetricsTokenAnnotation)

// readToken reads which Secret has the token for the metrics of model servers. With a name that no Secret can have, the
// picker would not start.
func (p *inferencePool) readToken(named string) []problem.Problem {
	message := ""
	switch wrong := validation.IsDNS1123Subdomain(named); {
	case named == "":
		return nil
	case !p.Pool.Own:
		message = "it has no effect: Cardea runs no picker for the pool"
	case len(wrong) > 0:
		message = fmt.Sprintf("%q is not a valid name of a Secret and is ignored: %s", named, wrong[0])
	default:
		p.Token = named
		return nil
	}
	return []problem.Problem{{Severity: model.Warning, Field: tokenField, Message: message}}
}

// unreachedFindings warns of endpoints that the pool's picker can't reach. The proxies may reach them: so it is no
// error.
func (all *Backends) unreachedFindings(c *flow.Ctx, ref model.ObjectRef, p inferencePool) []model.Finding {
	told, known := flow.Fetch(c, all.in.Unreached.Collection(), ref)
	if !known || !p.Pool.Own {
		return nil
	}
	var problems []problem.Problem
	warn := func(field, message string) {
		problems = append(problems, problem.Problem{Severity: model.Warning, Condition: inferencev1.ConditionResolvedRefs,
			Reason: inferencev1.ReasonResolvedRefs, Field: field, Message: message})
	}
	if told.NoToken != "" && p.Token != "" {
		warn(tokenField, fmt.Sprintf("Secret %s/%s has no entry %q that Cardea's picker can read: %s",
			ref.Namespace(), p.Token, model.TokenEntry, told.NoToken))
	}
	if told.Count > 0 {
		warn("spec.targetPorts", told.Describe())
	}
	return problem.ToFindings(ref, "", "", problems)
}

// planPickers are the pools that a route names where it serves, and for which a picker has to run.
func (u *InUse) planPickers() *flow.Collection[model.ObjectRef, plan.PickerSpec] {
	return flow.Map(u.Pools, "plan/picker", func(c *flow.Ctx, ref model.ObjectRef, p inferencePool) (plan.PickerSpec,
		bool) {
		needed := p.Pool.Own && hasServingRoute(c, u.routes, ref)
		return plan.PickerSpec{UID: p.Selection.UID, Deleting: p.Selection.Deleting, Token: p.Token}, needed
	})
}

// WarnPoolRefs warns of objects that pickers read (poolRef) and that have no effect: most likely a typing error, which
// no picker would tell.
func (all *Backends) WarnPoolRefs() *flow.Collection[model.ObjectRef, []model.Finding] {
	keep := func(_ *flow.Ctx, _ model.ObjectRef, list []model.Finding) ([]model.Finding, bool) { return list, true }
	return flow.Merge("for pickers",
		flow.From(poolRefs(all, model.KindInferenceObjective,
			func(s v1alpha2.InferenceObjectiveSpec) v1alpha2.PoolObjectReference { return s.PoolRef }), keep),
		flow.From(poolRefs(all, model.KindModelRewrite,
			func(s v1alpha2.InferenceModelRewriteSpec) v1alpha2.PoolObjectReference { return s.PoolRef }), keep))
}

func poolRefs[S any](
	all *Backends, kind model.Kind, poolRef func(S) v1alpha2.PoolObjectReference,
) *flow.Collection[model.ObjectRef, []model.Finding] {
	objects := input.SourceOf[S](all.in.Sources, kind).Collection()
	return flow.Map(objects, "for pickers/"+kind.QualifiedName(),
		func(c *flow.Ctx, ref model.ObjectRef, o input.Object[S]) ([]model.Finding, bool) {
			field, why := all.noEffect(c, ref, poolRef(*o.Spec))
			return []model.Finding{{
				Object: ref, Severity: model.Warning, Field: "spec.poolRef" + field, Message: why + ", so this has no effect",
			}}, why != ""
		})
}

// noEffect says why nobody reads an object that names a pool; "": somebody may.
func (all *Backends) noEffect(
	c *flow.Ctx, ref model.ObjectRef, to v1alpha2.PoolObjectReference,
) (field, why string) {
	named, is := to.Pool(ref.Namespace())
	if !is {
		return "", fmt.Sprintf("kind %s of group %q is not an InferencePool (%s)", to.Kind, to.Group,
			model.KindInferencePool.Group())
	}
	pool := model.Ref(model.KindInferencePool, named.Namespace, named.Name)
	switch p, found := flow.Fetch(c, all.Pools, pool); {
	case !found:
		return ".name", input.DescribeAbsent(c, all.in.Broken.Collection(), pool)
	case !p.Pool.HasPicker():
		return "", fmt.Sprintf("%s has no picker", pool)
	}
	return "", ""
}
