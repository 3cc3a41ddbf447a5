package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/route"
)

// Some mistakes leave a valid object without any effect. Nothing else would tell of them: these are warnings.

// unattachedFindings warns of a route that names no Gateway, and of host names that it has twice.
func unattachedFindings(
	ref model.ObjectRef, parents []gatewayv1.ParentReference, hostnames []gatewayv1.Hostname,
) (list []model.Finding) {
	warn := func(field, format string, args ...any) {
		list = append(list, model.Finding{
			Object: ref, Severity: model.Warning, Field: field, Message: fmt.Sprintf(format, args...),
		})
	}
	var kinds []string
	gateways := 0
	for _, p := range parents {
		switch parent := route.ParentRef(ref, p); {
		case parent.Group == gatewayv1.GroupName && (parent.Kind == "Gateway" || parent.Kind == "ListenerSet"):
			gateways++
		case !slices.Contains(kinds, string(parent.Kind)):
			kinds = append(kinds, string(parent.Kind))
		}
	}
	switch {
	case len(parents) == 0:
		warn("spec.parentRefs", "it has none, so it attaches to no Gateway; write [{name: ...}] with the name of a Gateway")
	case gateways == 0:
		warn("spec.parentRefs", "they are of kind %s only, so it attaches to no Gateway", model.JoinSome(kinds))
	}
	for i, h := range hostnames {
		same := func(other gatewayv1.Hostname) bool { return strings.EqualFold(string(h), string(other)) }
		if first := slices.IndexFunc(hostnames[:i], same); first >= 0 {
			warn(fmt.Sprintf("spec.hostnames[%d]", i), "%s is already there as hostnames[%d]", h, first)
		}
	}
	return list
}

// findMistypedController finds GatewayClasses whose controller is nearly this one.
func findMistypedController(
	_ *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.GatewayClassSpec],
) ([]model.Finding, bool) {
	name := string(o.Spec.ControllerName)
	domain, _, _ := strings.Cut(name, "/")
	own, _, _ := strings.Cut(model.ControllerName, "/")
	if name == model.ControllerName || model.NearestName(domain, []string{own}) == "" {
		return nil, false
	}
	return []model.Finding{{
		Object: ref, Severity: model.Warning, Field: "spec.controllerName",
		Message: fmt.Sprintf("no controller of Cardea is called %q; did you mean %s?", name, model.ControllerName),
	}}, true
}

// findMistypedGrants finds entries of ReferenceGrants whose kinds are nearly ones that there are: they permit nothing.
func findMistypedGrants(
	catalog *kind.Catalog,
) func(*flow.Ctx, model.ObjectRef, input.Object[gatewayv1.ReferenceGrantSpec]) ([]model.Finding, bool) {
	known := map[string][]string{}
	for _, k := range catalog.All() {
		known[k.Group()] = append(known[k.Group()], k.String())
	}
	return func(
		_ *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.ReferenceGrantSpec],
	) (list []model.Finding, found bool) {
		check := func(field string, group gatewayv1.Group, kind gatewayv1.Kind) {
			names := known[string(group)]
			near := model.NearestName(string(kind), names)
			if group != "" && group != gatewayv1.GroupName || near == "" || slices.Contains(names, string(kind)) {
				return
			}
			list = append(list, model.Finding{
				Object: ref, Severity: model.Warning, Field: field + ".kind",
				Message: fmt.Sprintf("unknown kind %q, so this permits nothing; did you mean %s?", kind, near),
			})
		}
		for i, from := range o.Spec.From {
			check(fmt.Sprintf("spec.from[%d]", i), from.Group, from.Kind)
		}
		for i, to := range o.Spec.To {
			check(fmt.Sprintf("spec.to[%d]", i), to.Group, to.Kind)
		}
		return list, len(list) > 0
	}
}
