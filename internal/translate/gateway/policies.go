package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/policy"
)

// lookups find what policies name.
func (m *Meaning) lookups(kinds backendKinds, grants *grants) policy.Lookups {
	return policy.Lookups{
		Backend: func(c *flow.Ctx, from model.ObjectRef, to gatewayv1.BackendObjectReference, grpc bool) (
			policy.Named, policy.Unusable,
		) {
			read := kinds.resolve(c, grants, from, to, grpc).direct()
			unusable := policy.Unusable{Reason: read.Unusable.reason, Message: read.Unusable.message}
			return policy.Named{Key: read.Key, Outside: read.External}, unusable
		},
		Secret: func(c *flow.Ctx, from model.ObjectRef, to gatewayv1.SecretObjectReference) (
			*input.SecretSpec, policy.Unusable,
		) {
			ref, why := secretNamed(from, to)
			switch {
			case why != "":
				return nil, policy.Unusable{Reason: "InvalidKind", Message: why}
			case !grants.permit(c, from, ref):
				return nil, policy.Unusable{Reason: "RefNotPermitted", Message: grants.refusal(c, from, ref)}
			}
			return lookUp(c, m.in.Secrets, m.in, ref, "SecretNotFound")
		},
		Protocol: func(c *flow.Ctx, backend model.BackendKey) model.BackendProtocol {
			b, _ := m.backend(c, plan.BackendKey{Backend: backend}, "")
			return b.Protocol
		},
		Picked: func(c *flow.Ctx, backend model.ObjectRef) bool {
			pool, _ := flow.Fetch(c, m.pools, backend)
			return pool.Pool.Picked() && !pool.Pool.FailOpen
		},
		ConfigMap: func(c *flow.Ctx, from model.ObjectRef, name string) (*input.ConfigMapSpec, policy.Unusable) {
			ref := model.Ref(model.KindConfigMap, from.Namespace(), name)
			return lookUp(c, m.in.ConfigMaps, m.in, ref, "ConfigMapNotFound")
		},
		Entry: m.entry(grants),
		Through: func(c *flow.Ctx, backend model.BackendKey) (model.Backend, bool) {
			return m.backend(c, plan.BackendKey{Backend: backend}, "")
		},
	}
}

// entry looks up an entry of a ConfigMap or a Secret.
func (m *Meaning) entry(grants *grants) func(
	*flow.Ctx, model.ObjectRef, gatewayv1.ObjectReference, string) (model.ObjectRef, []byte, policy.Unusable,
) {
	return func(c *flow.Ctx, from model.ObjectRef, of gatewayv1.ObjectReference, key string) (
		model.ObjectRef, []byte, policy.Unusable,
	) {
		ref := model.Ref(model.KindOf(string(of.Group), string(of.Kind)),
			cmp.Or(string(value(of.Namespace)), from.Namespace()), string(of.Name))
		switch {
		case ref.Kind() != model.KindConfigMap && ref.Kind() != model.KindSecret:
			return model.ObjectRef{}, nil, policy.Unusable{Reason: "InvalidKind", Message: fmt.Sprintf(
				"%s (group %q) is neither a ConfigMap nor a Secret of the core group", of.Kind, of.Group)}
		case !grants.permit(c, from, ref):
			return model.ObjectRef{}, nil, policy.Unusable{Reason: "RefNotPermitted", Message: grants.refusal(c, from, ref)}
		case ref.Kind() == model.KindSecret:
			secret, why := lookUp(c, m.in.Secrets, m.in, ref, "SecretNotFound")
			if secret == nil {
				return ref, nil, why
			}
			return ref, secret.Data[key], why
		}
		found, why := lookUp(c, m.in.ConfigMaps, m.in, ref, "ConfigMapNotFound")
		if found == nil {
			return ref, nil, why
		}
		return ref, []byte(cmp.Or(found.Data[key], string(found.BinaryData[key]))), why
	}
}

// secretNamed fills in the defaults of a reference to a Secret.
func secretNamed(from model.ObjectRef, to gatewayv1.SecretObjectReference) (ref model.ObjectRef, wrong string) {
	kind, namespace := model.KindSecret, from.Namespace()
	if to.Kind != nil || to.Group != nil {
		kind = model.KindOf(string(value(to.Group)), string(value(to.Kind)))
		if to.Kind == nil {
			kind = model.KindOf(string(*to.Group), "Secret")
		}
	}
	if kind != model.KindSecret {
		return ref, fmt.Sprintf("kind %s (group %q) is not supported; use a Secret", kind, kind.Group())
	}
	if to.Namespace != nil {
		namespace = string(*to.Namespace)
	}
	return model.Ref(kind, namespace, string(to.Name)), ""
}

// value is what a pointer points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// lookUp finds an object that is read when something names it.
func lookUp[S any](
	c *flow.Ctx, source *input.Source[S], in *kinds.Sources, ref model.ObjectRef, reason string,
) (*S, policy.Unusable) {
	if o, found := flow.Fetch(c, source.Collection(), ref); found {
		return o.Spec, policy.Unusable{}
	}
	if why, unread := flow.Fetch(c, in.Unread.Collection(), ref); unread {
		return nil, policy.Unusable{Reason: reason, Message: fmt.Sprintf("%s can't be read: %s", ref, why)}
	}
	return nil, policy.Unusable{Reason: reason, Message: absent(c, in.Broken.Collection(), ref)}
}

// withPolicies are the backends that routes send requests to, and those that only settings do.
func (m *Meaning) withPolicies(p *policy.Meaning) *flow.Collection[plan.BackendKey, model.Backend] {
	if p.Others == nil {
		return flow.Map(m.Plan.Users, "plan/backend", m.ofRoutes)
	}
	return flow.Merge("plan/backend", flow.From(m.Plan.Users, m.ofRoutes), flow.From(p.Others, m.backend))
}

// extension tells what is wrong with a filter that names a policy.
func (s ruleScope) extension(to gatewayv1.LocalObjectReference) []problem {
	ref := policyNamed(s.route, to)
	kind, known := s.refs.policies.Of(ref.Kind())
	switch {
	case !known || !kind.ForRules():
		return []problem{{condition: "ResolvedRefs", reason: "InvalidKind", drops: true,
			message: fmt.Sprintf("filter %s is of a kind that is not known: %s (group %q); %s",
				to.Name, to.Kind, to.Group, s.answersInstead())}}
	case !s.refs.policies.Has(s.c, ref):
		return []problem{{condition: "ResolvedRefs", reason: "BackendNotFound", drops: true,
			message: fmt.Sprintf("%s; %s", absent(s.c, s.refs.broken, ref), s.answersInstead())}}
	}
	return nil
}

func policyNamed(route model.ObjectRef, to gatewayv1.LocalObjectReference) model.ObjectRef {
	return model.Ref(model.KindOf(string(to.Group), string(to.Kind)), route.Namespace(), string(to.Name))
}

// extensionAt tells what is wrong with a filter of a backendRef that names a policy: then requests to that backend are
// answered with an error, and no others.
func (s ruleScope) extensionAt(to gatewayv1.LocalObjectReference) []problem {
	problems := s.extension(to)
	ref := policyNamed(s.route, to)
	if feature, found := s.refs.policies.Misplaced(s.c, ref); len(problems) == 0 && found {
		kind, _ := s.refs.policies.Of(ref.Kind())
		what := "no policy of this kind can be stated for a backendRef"
		if names := kind.AtBackendRef(); len(names) > 0 {
			what = "a backendRef takes " + strings.Join(names, " and ") + " of it"
		}
		states := " states " + feature + "; "
		if feature == extend.Whole {
			states = ": "
		}
		problems = []problem{{condition: "ResolvedRefs", reason: "InvalidKind", message: fmt.Sprintf(
			"%s%s%s; %s", ref, states, what, s.answersInstead())}}
	}
	for i := range problems {
		problems[i].drops = false
		problems[i].message = strings.Replace(problems[i].message, "the rule answers", "the backend's share gets", 1)
	}
	return problems
}

// policiesOf are those that a rule's filters name and that are there.
func (s ruleScope) policiesOf(filters []gatewayv1.HTTPRouteFilter) (list []model.ObjectRef) {
	for _, f := range filters {
		if f.ExtensionRef != nil && len(s.extension(*f.ExtensionRef)) == 0 {
			list = append(list, policyNamed(s.route, *f.ExtensionRef))
		}
	}
	return list
}

// unextended tells whether one of a backendRef's filters names a policy that can't be stated there.
func (s ruleScope) unextended(filters []gatewayv1.HTTPRouteFilter) bool {
	return slices.ContainsFunc(filters, func(f gatewayv1.HTTPRouteFilter) bool {
		return f.ExtensionRef != nil && len(s.extensionAt(*f.ExtensionRef)) > 0
	})
}

// answers tells whether one of some policies answers requests in place of backends.
func (s ruleScope) answers(policies []model.ObjectRef) bool {
	return slices.ContainsFunc(policies, func(ref model.ObjectRef) bool { return s.refs.policies.Answers(s.c, ref) })
}
