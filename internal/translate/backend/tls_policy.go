package backend

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/precedence"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/reference"
)

// tlsPolicies are the BackendTLSPolicies.
type tlsPolicies struct {
	all *flow.Collection[model.ObjectRef, tlsPolicy]
	// byTarget are those that target an object, the oldest first.
	byTarget *flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, tlsPolicy]]
	// sections are those of an object that are targeted, "" for all of it: routes depend on nothing else of a policy.
	sections *flow.Collection[model.ObjectRef, []string]
	catalog  *kind.Catalog
}

// tlsPolicy is a BackendTLSPolicy by itself, whatever else targets the same.
type tlsPolicy struct {
	Order   string // among others: by age, then by name
	Targets []tlsTarget
	TLS     *model.BackendTLS // never nil
	// Authorities are those by which backends are judged.
	Authorities []model.MaterialKey
	Findings    []model.Finding // but for those about targets
}

// tlsTarget is what a policy is for: an object, or a section of it.
type tlsTarget struct {
	Object  model.ObjectRef
	Section string
}

func newTLSPolicies(in *kinds.Sources, refs reference.Authorities) tlsPolicies {
	p := tlsPolicies{catalog: in.Catalog, all: flow.Merge("tls-policy",
		flow.From(in.BackendTLSPolicies.Collection(), func(
			c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.BackendTLSPolicySpec],
		) (tlsPolicy, bool) {
			return readTLSPolicy(c, refs, ref, o), true
		}), flow.From(in.Closed.Collection(),
			unreadTLSPolicy))}
	p.byTarget = flow.Group(p.all, "tls-policies by target",
		func(_ model.ObjectRef, own tlsPolicy) (list []model.ObjectRef) {
			for _, t := range own.Targets {
				if !slices.Contains(list, t.Object) {
					list = append(list, t.Object)
				}
			}
			return list
		}, func(_ model.ObjectRef, own tlsPolicy) string { return own.Order })
	p.sections = flow.Map(p.byTarget, "tls-policies/sections",
		func(_ *flow.Ctx, object model.ObjectRef, claims flow.Members[model.ObjectRef, tlsPolicy]) (list []string, _ bool) {
			for _, own := range claims.All() {
				for _, t := range own.Targets {
					if t.Object == object {
						list = append(list, t.Section)
					}
				}
			}
			slices.Sort(list)
			return slices.Compact(list), true
		})
	return p
}

// readTLSPolicy reads a BackendTLSPolicy. One that can't be done closes what it targets: no request is sent there
// without what it asks for.
func readTLSPolicy(
	c *flow.Ctx, authorities reference.Authorities, ref model.ObjectRef, o input.Object[gatewayv1.BackendTLSPolicySpec],
) tlsPolicy {
	read := tlsPolicy{Order: precedence.AgeOrder(o.Meta.Created) + " " + ref.NamespacedName()}
	for _, t := range o.Spec.TargetRefs {
		target := tlsTarget{
			Object: model.Ref(model.KindOf(string(t.Group), string(t.Kind)), ref.Namespace(), string(t.Name)),
		}
		if t.SectionName != nil {
			target.Section = string(*t.SectionName)
		}
		read.Targets = append(read.Targets, target)
	}
	tls, used, problems := authorities.ReadValidation(c, ref, o.Spec.Validation)
	tls.Policy, read.Authorities = ref, used
	problems = problem.PrefixFields(".validation", problems)
	if refs := o.Spec.Validation.CACertificateRefs; len(refs) > 0 && unresolvedOf(problems) == len(refs) {
		none := problem.Problem{
			Field: ".validation.caCertificateRefs", Condition: "Accepted",
			Reason:    string(gatewayv1.BackendTLSPolicyReasonNoValidCACertificate),
			Message:   "none of its CAs is valid; requests to its targets get an error",
			UsesOlder: tls.CA != "",
		}
		if none.UsesOlder {
			none.Message = "none of its CAs is valid; the last good version stays in use (see the condition ResolvedRefs)"
		}
		problems = append([]problem.Problem{none}, problems...)
	}
	problems = append(problems, unknownInPolicy(o)...)
	read.Findings = problem.ToFindings(ref, "", "spec", problems)
	for i := range read.Findings {
		f := &read.Findings[i]
		f.Drops = false // that is said of rules
		if f.Condition != "Accepted" {
			continue
		}
		if f.Reason == "UnsupportedValue" { // as the policy's own condition has it
			f.Reason = string(gatewayv1.PolicyReasonInvalid)
		}
		if tls.Closed == "" && !problems[i].UsesOlder {
			tls.Closed = fmt.Sprintf("%s: %s", ref, f.Message)
		}
	}
	read.TLS = &tls
	return read
}

// unresolvedOf counts the references that are not resolved.
func unresolvedOf(problems []problem.Problem) (n int) {
	for _, p := range problems {
		if p.Condition == "ResolvedRefs" {
			n++
		}
	}
	return n
}

// unreadTLSPolicy closes what a policy is for that can't be read. It comes before all others.
func unreadTLSPolicy(_ *flow.Ctx, ref model.ObjectRef, c input.ClosedTargets) (read tlsPolicy, is bool) {
	if ref.Kind() != model.KindBackendTLSPolicy {
		return read, false
	}
	for _, t := range c.Targets {
		read.Targets = append(read.Targets,
			tlsTarget{Object: model.Ref(t.Kind, ref.Namespace(), t.Name), Section: t.Section})
	}
	read.TLS = &model.BackendTLS{Policy: ref, Closed: input.DescribeObject(ref) + " can't be read"}
	return read, true
}

// unknownInPolicy are the problems of what a policy asks for and is not known: options are left out, since they may be
// another controller's; without any other field the policy may ask for less than its author wants.
func unknownInPolicy(o input.Object[gatewayv1.BackendTLSPolicySpec]) (problems []problem.Problem) {
	for _, field := range o.Meta.Unknown {
		problems = append(problems, problem.NewUnsupported("."+field,
			"this version of Cardea does not know the field; requests to its targets get an error"))
	}
	if len(o.Spec.Options) > 0 {
		problems = append(problems, problem.Problem{
			Severity: model.Warning, Field: ".options", Message: "Cardea knows no options here; they have no effect",
		})
	}
	return problems
}

// findPolicy is the policy that says how a section of an object is spoken to: the oldest for the section or, if there
// is none, the oldest for the whole object.
func (p tlsPolicies) findPolicy(c *flow.Ctx, object model.ObjectRef, section string) (own tlsPolicy, found bool) {
	if !p.hasPolicy(c, object, section) { // most objects have none, and then this is all that they look at
		return own, false
	}
	if section != "" {
		if _, own, found := p.firstPolicy(c, tlsTarget{object, section}); found {
			return own, true
		}
	}
	_, own, found = p.firstPolicy(c, tlsTarget{Object: object})
	return own, found
}

// firstPolicy is the policy that counts of those with the very same target.
func (p tlsPolicies) firstPolicy(c *flow.Ctx, target tlsTarget) (ref model.ObjectRef, own tlsPolicy, found bool) {
	claims, _ := flow.Fetch(c, p.byTarget, target.Object)
	for ref, own := range claims.All() {
		if slices.Contains(own.Targets, target) {
			return ref, own, true
		}
	}
	return ref, own, false
}

// hasPolicy tells whether there is a policy for a section of an object.
func (p tlsPolicies) hasPolicy(c *flow.Ctx, object model.ObjectRef, section string) bool {
	sections, _ := flow.Fetch(c, p.sections, object)
	return slices.Contains(sections, "") || section != "" && slices.Contains(sections, section)
}

// targetProblem says what is wrong with a policy's target.
func (p tlsPolicies) targetProblem(
	c *flow.Ctx, services serviceKind, policy model.ObjectRef, target tlsTarget,
) (reason gatewayv1.PolicyConditionReason, message string) {
	switch backend := p.catalog.FindKind(target.Object.Kind()).AsBackend(); {
	case target.Object.Kind() == model.KindService:
	case backend != nil && backend.OwnTLS != "":
		return gatewayv1.PolicyReasonInvalid, backend.OwnTLS + "; target a Service"
	default:
		return gatewayv1.PolicyReasonInvalid, fmt.Sprintf("a target of kind %s (group %q) is not supported; use a Service",
			target.Object.Kind(), target.Object.Kind().Group())
	}
	o, found := flow.Fetch(c, services.services, target.Object)
	if !found {
		return gatewayv1.PolicyReasonTargetNotFound, input.DescribeAbsent(c, services.broken, target.Object)
	}
	var names []string
	for _, port := range o.Spec.Ports {
		if port.Name != "" {
			names = append(names, port.Name)
		}
	}
	if target.Section != "" && !slices.Contains(names, target.Section) {
		return gatewayv1.PolicyReasonTargetNotFound, fmt.Sprintf("%s has no port named %s%s", target.Object, target.Section,
			model.SuggestNames(target.Section, names))
	}
	if first, _, _ := p.firstPolicy(c, target); first != policy {
		what := target.Object.String()
		if target.Section != "" {
			what = fmt.Sprintf("port %s of %s", target.Section, what)
		}
		return gatewayv1.PolicyReasonConflicted, fmt.Sprintf(
			"%s also targets %s and wins: it is older or, at the same age, first by name", first, what)
	}
	return "", ""
}
