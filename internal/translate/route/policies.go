package route

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// checkExtensionRef tells what is wrong with a filter that names a policy.
func (s ruleScope) checkExtensionRef(to gatewayv1.LocalObjectReference) []problem.Problem {
	ref := policyNamed(s.route, to)
	kind, known := s.refs.Policies.FindKind(ref.Kind())
	switch {
	case !known || !kind.ForRules():
		return []problem.Problem{{Condition: "ResolvedRefs", Reason: "InvalidKind", Drops: true,
			Message: fmt.Sprintf("filter %s refers to an unknown kind: %s (group %q); %s",
				to.Name, to.Kind, to.Group, s.describeAnswer())}}
	case !s.refs.Policies.HasPolicy(s.c, ref):
		return []problem.Problem{{Condition: "ResolvedRefs", Reason: "BackendNotFound", Drops: true,
			Message: fmt.Sprintf("%s; %s", input.DescribeAbsent(s.c, s.refs.Sources.Broken.Collection(), ref),
				s.describeAnswer())}}
	}
	return nil
}

func policyNamed(route model.ObjectRef, to gatewayv1.LocalObjectReference) model.ObjectRef {
	return model.Ref(model.KindOf(string(to.Group), string(to.Kind)), route.Namespace(), string(to.Name))
}

// checkBackendExtensionRef tells what is wrong with a filter of a backendRef that names a policy: then requests to that
// backend are answered with an error, and no others.
func (s ruleScope) checkBackendExtensionRef(to gatewayv1.LocalObjectReference) []problem.Problem {
	problems := s.checkExtensionRef(to)
	ref := policyNamed(s.route, to)
	if feature, found := s.refs.Policies.MisplacedFeature(s.c, ref); len(problems) == 0 && found {
		kind, _ := s.refs.Policies.FindKind(ref.Kind())
		what := "a backendRef can't refer to a policy of this kind"
		if names := kind.AtBackendRef(); len(names) > 0 {
			what = "a policy for a backendRef can state only " + strings.Join(names, " and ")
		}
		states := " states " + feature + "; "
		if feature == extend.Whole {
			states = ": "
		}
		problems = []problem.Problem{{Condition: "ResolvedRefs", Reason: "InvalidKind", Message: fmt.Sprintf(
			"%s%s%s; %s", ref, states, what, s.describeAnswer())}}
	}
	for i := range problems {
		problems[i].Drops = false
		problems[i].Message = strings.Replace(problems[i].Message, "requests of the rule", "requests to this backend", 1)
	}
	return problems
}

// policiesOf are those that a rule's filters name and that are there.
func (s ruleScope) policiesOf(filters []gatewayv1.HTTPRouteFilter) (list []model.ObjectRef) {
	for _, f := range filters {
		if f.ExtensionRef != nil && len(s.checkExtensionRef(*f.ExtensionRef)) == 0 {
			list = append(list, policyNamed(s.route, *f.ExtensionRef))
		}
	}
	return list
}

// hasInvalidExtension tells whether one of a backendRef's filters names a policy that can't be stated there.
func (s ruleScope) hasInvalidExtension(filters []gatewayv1.HTTPRouteFilter) bool {
	return slices.ContainsFunc(filters, func(f gatewayv1.HTTPRouteFilter) bool {
		return f.ExtensionRef != nil && len(s.checkBackendExtensionRef(*f.ExtensionRef)) > 0
	})
}

// anyAnswers tells whether one of some policies answers requests in place of backends.
func (s ruleScope) anyAnswers(policies []model.ObjectRef) bool {
	return slices.ContainsFunc(policies, func(ref model.ObjectRef) bool {
		return s.refs.Policies.AnswersRequests(s.c,
			ref)
	})
}
