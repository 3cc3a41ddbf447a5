package gateway

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// ownPicker has Cardea's picker chosen for a pool that names none, if pickers are run and the pool's annotation does
// not turn it off. It fails open: no request fails because the picker does not run. Unless the pool says otherwise, the
// picker gets the first part of a body: then no body is lost when it ends, and it learns when an answer ends.
func (m *Meaning) ownPicker(c *flow.Ctx, ref model.ObjectRef, wanted string, p *inferencePool) (problems []problem) {
	where := fmt.Sprintf("metadata.annotations[%s]", inferencev1.PickerAnnotation)
	if wanted != "" && wanted != inferencev1.NoPicker {
		problems = []problem{{severity: model.Warning, field: where, message: fmt.Sprintf(
			"%q is not known, so it does not count; use %s, or leave it out", wanted, inferencev1.NoPicker)}}
	}
	environment, _ := flow.Fetch(c, m.in.Environment.Collection(), model.ObjectRef{})
	if !environment.Pickers || wanted == inferencev1.NoPicker {
		return append(problems, problem{severity: model.Info, field: "spec.endpointPickerRef",
			message: "nobody picks: each request goes to the endpoint that has the fewest"})
	}
	p.Pool = model.Pool{Own: true, FailOpen: true, Partial: true, Picker: model.OwnPicker(ref)}
	p.Own, _ = flow.Fetch(c, m.in.Pickers.Collection(), ref)
	if p.Own.Problem != "" {
		problems = append(problems, problem{severity: model.Warning, condition: inferencev1.ConditionResolvedRefs,
			reason: inferencev1.ReasonResolvedRefs, field: "spec.endpointPickerRef",
			message: p.Own.Problem + "; " + p.instead()})
	}
	return problems
}

// tokenField is where a pool names the Secret with the token for metrics.
var tokenField = fmt.Sprintf("metadata.annotations[%s]", inferencev1.MetricsTokenAnnotation)

// readToken reads which Secret has the token for the metrics of model servers. With a name that no Secret can have, the
// picker would not start.
func (p *inferencePool) readToken(named string) []problem {
	message := ""
	switch wrong := validation.IsDNS1123Subdomain(named); {
	case named == "":
		return nil
	case !p.Pool.Own:
		message = "it has no effect: Cardea runs no picker for the pool"
	case len(wrong) > 0:
		message = fmt.Sprintf("%q is no name of a Secret, so it does not count: %s", named, wrong[0])
	default:
		p.Token = named
		return nil
	}
	return []problem{{severity: model.Warning, field: tokenField, message: message}}
}

// unreached warns of endpoints that the pool's picker can't reach. The proxies may reach them: so it is no error.
func (m *Meaning) unreached(c *flow.Ctx, ref model.ObjectRef, p inferencePool) []model.Finding {
	told, known := flow.Fetch(c, m.in.Unreached.Collection(), ref)
	if !known || !p.Pool.Own {
		return nil
	}
	var problems []problem
	warn := func(field, message string) {
		problems = append(problems, problem{severity: model.Warning, condition: inferencev1.ConditionResolvedRefs,
			reason: inferencev1.ReasonResolvedRefs, field: field, message: message})
	}
	if told.NoToken != "" && p.Token != "" {
		warn(tokenField, fmt.Sprintf("Secret %s/%s has no entry %q that Cardea's picker can read: %s",
			ref.Namespace(), p.Token, model.TokenEntry, told.NoToken))
	}
	if told.Count > 0 {
		warn("spec.targetPorts", told.Words())
	}
	return findings(ref, "", "", problems)
}

// pickers are the pools that a route names where it serves, and for which a picker has to run.
func (m *Meaning) pickers() *flow.Collection[model.ObjectRef, plan.Picker] {
	return flow.Map(m.pools, "plan/picker", func(c *flow.Ctx, ref model.ObjectRef, p inferencePool) (plan.Picker, bool) {
		needed := p.Pool.Own && served(c, m.naming, ref)
		return plan.Picker{UID: p.Selection.UID, Leaving: p.Selection.Leaving, Token: p.Token}, needed
	})
}
