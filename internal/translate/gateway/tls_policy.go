package gateway

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// tlsPolicies are the BackendTLSPolicies.
type tlsPolicies struct {
	all *flow.Collection[model.ObjectRef, tlsPolicy]
	// claims are those that target an object, the oldest first.
	claims *flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, tlsPolicy]]
	// sections are those of an object that are targeted, "" for all of it: routes depend on nothing else of a policy.
	sections *flow.Collection[model.ObjectRef, []string]
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

func newTLSPolicies(in *kinds.Sources, refs authorities) tlsPolicies {
	p := tlsPolicies{all: flow.Merge("tls-policy", flow.From(in.BackendTLSPolicies.Collection(), refs.tlsPolicy),
		flow.From(in.Closed.Collection(), unreadTLSPolicy))}
	p.claims = flow.Group(p.all, "tls-policies by target",
		func(_ model.ObjectRef, own tlsPolicy) (list []model.ObjectRef) {
			for _, t := range own.Targets {
				if !slices.Contains(list, t.Object) {
					list = append(list, t.Object)
				}
			}
			return list
		}, func(_ model.ObjectRef, own tlsPolicy) string { return own.Order })
	p.sections = flow.Map(p.claims, "tls-policies/sections",
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

// tlsPolicy reads a BackendTLSPolicy. One that can't be done closes what it targets: no request is sent there without
// what it asks for.
func (in authorities) tlsPolicy(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.BackendTLSPolicySpec],
) (tlsPolicy, bool) {
	read := tlsPolicy{Order: ageOrder(o.Meta.Created) + " " + ref.NamespacedName()}
	for _, t := range o.Spec.TargetRefs {
		target := tlsTarget{
			Object: model.Ref(model.KindOf(string(t.Group), string(t.Kind)), ref.Namespace(), string(t.Name)),
		}
		if t.SectionName != nil {
			target.Section = string(*t.SectionName)
		}
		read.Targets = append(read.Targets, target)
	}
	tls, used, problems := in.validation(c, ref, o.Spec.Validation)
	tls.Policy, read.Authorities = ref, used
	problems = below(".validation", problems)
	if refs := o.Spec.Validation.CACertificateRefs; len(refs) > 0 && unresolvedOf(problems) == len(refs) {
		none := problem{
			field: ".validation.caCertificateRefs", condition: "Accepted",
			reason:  string(gatewayv1.BackendTLSPolicyReasonNoValidCACertificate),
			message: "none of its CAs is valid; requests to its targets get an error",
			older:   tls.CA != "",
		}
		if none.older {
			none.message = "none of its CAs is valid; the last good version serves on (see the condition ResolvedRefs)"
		}
		problems = append([]problem{none}, problems...)
	}
	problems = append(problems, unknownInPolicy(o)...)
	read.Findings = findings(ref, "", "spec", problems)
	for i := range read.Findings {
		f := &read.Findings[i]
		f.Drops = false // that is said of rules
		if f.Condition != "Accepted" {
			continue
		}
		if f.Reason == "UnsupportedValue" { // as the policy's own condition has it
			f.Reason = string(gatewayv1.PolicyReasonInvalid)
		}
		if tls.Closed == "" && !problems[i].older {
			tls.Closed = fmt.Sprintf("%s: %s", ref, f.Message)
		}
	}
	read.TLS = &tls
	return read, true
}

// unresolvedOf counts the references that are not resolved.
func unresolvedOf(problems []problem) (n int) {
	for _, p := range problems {
		if p.condition == "ResolvedRefs" {
			n++
		}
	}
	return n
}

// unreadTLSPolicy closes what a policy is for that can't be read. It comes before all others.
func unreadTLSPolicy(_ *flow.Ctx, ref model.ObjectRef, c input.Closed) (read tlsPolicy, is bool) {
	if ref.Kind() != model.KindBackendTLSPolicy {
		return read, false
	}
	for _, t := range c.Targets {
		read.Targets = append(read.Targets,
			tlsTarget{Object: model.Ref(t.Kind, ref.Namespace(), t.Name), Section: t.Section})
	}
	read.TLS = &model.BackendTLS{Policy: ref, Closed: fmt.Sprintf("%s can't be read: %s", c.Of, c.Why)}
	return read, true
}

// unknownInPolicy are the problems of what a policy asks for and is not known: options are left out, since they may be
// another controller's; without any other field the policy may ask for less than its author wants.
func unknownInPolicy(o input.Object[gatewayv1.BackendTLSPolicySpec]) (problems []problem) {
	for _, field := range o.Meta.Unknown {
		problems = append(problems, unsupported("."+field,
			"this version of Cardea does not know the field; requests to its targets get an error"))
	}
	if len(o.Spec.Options) > 0 {
		problems = append(problems, problem{
			severity: model.Warning, field: ".options", message: "no option is known here; they have no effect",
		})
	}
	return problems
}

// of is the policy that says how a section of an object is spoken to: the oldest for the section or, if there is none,
// the oldest for the whole object.
func (p tlsPolicies) of(c *flow.Ctx, object model.ObjectRef, section string) (own tlsPolicy, found bool) {
	if !p.target(c, object, section) { // most objects have none, and then this is all that they look at
		return own, false
	}
	if section != "" {
		if _, own, found := p.first(c, tlsTarget{object, section}); found {
			return own, true
		}
	}
	_, own, found = p.first(c, tlsTarget{Object: object})
	return own, found
}

// first is the policy that counts of those with the very same target.
func (p tlsPolicies) first(c *flow.Ctx, target tlsTarget) (ref model.ObjectRef, own tlsPolicy, found bool) {
	claims, _ := flow.Fetch(c, p.claims, target.Object)
	for ref, own := range claims.All() {
		if slices.Contains(own.Targets, target) {
			return ref, own, true
		}
	}
	return ref, own, false
}

// target tells whether there is a policy for a section of an object.
func (p tlsPolicies) target(c *flow.Ctx, object model.ObjectRef, section string) bool {
	sections, _ := flow.Fetch(c, p.sections, object)
	return slices.Contains(sections, "") || section != "" && slices.Contains(sections, section)
}

// ownTLS is why no policy is for an XBackend.
const ownTLS = "an XBackend says by itself how it is spoken to over TLS (spec.tls)"

// wrong says what is wrong with a policy's target.
func (p tlsPolicies) wrong(
	c *flow.Ctx, services serviceKind, policy model.ObjectRef, target tlsTarget,
) (reason gatewayv1.PolicyConditionReason, message string) {
	switch target.Object.Kind() {
	case model.KindService:
	case model.KindXBackend:
		return gatewayv1.PolicyReasonInvalid, ownTLS + "; target a Service"
	default:
		return gatewayv1.PolicyReasonInvalid, fmt.Sprintf("a target of kind %s (group %q) is not supported; use a Service",
			target.Object.Kind(), target.Object.Kind().Group())
	}
	o, found := flow.Fetch(c, services.services, target.Object)
	if !found {
		return gatewayv1.PolicyReasonTargetNotFound, absent(c, services.broken, target.Object)
	}
	var names []string
	for _, port := range o.Spec.Ports {
		if port.Name != "" {
			names = append(names, port.Name)
		}
	}
	if target.Section != "" && !slices.Contains(names, target.Section) {
		return gatewayv1.PolicyReasonTargetNotFound, fmt.Sprintf("%s has no port named %s%s", target.Object, target.Section,
			model.Meant(target.Section, names))
	}
	if first, _, _ := p.first(c, target); first != policy {
		what := target.Object.String()
		if target.Section != "" {
			what = fmt.Sprintf("port %s of %s", target.Section, what)
		}
		return gatewayv1.PolicyReasonConflicted, fmt.Sprintf(
			"%s targets %s, too, and comes first: it is older or, at the same age, first by name", first, what)
	}
	return "", ""
}
