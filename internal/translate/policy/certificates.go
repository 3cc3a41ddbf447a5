package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
)

// withoutCertificates are the findings on what takes only callers with certificates, where no listener of the Gateways
// that the policy reaches asks for any.
func (r reporter) withoutCertificates(
	c *flow.Ctx, ref model.ObjectRef, p *policy, ancestors []conditions.PolicyAncestor,
) (list []model.Finding) {
	kind, _ := r.Store.FindKind(ref.Kind())
	for _, f := range kind.Features {
		spec, states := p.featureSpec(f.Name)
		if !states {
			continue
		}
		fields := f.Unmerged.ListCertificateFields(extend.EachPolicy{
			Kind: ref.Kind().String(), Namespace: ref.Namespace(), Spec: json.RawMessage(spec),
		})
		if len(fields) == 0 {
			continue
		}
		var names []string
		for _, a := range ancestors {
			if a.Object.Kind() != model.KindGateway {
				continue
			}
			if r.asksClients(c, a.Object) {
				return nil
			}
			names = append(names, a.Object.NamespacedName())
		}
		if len(names) == 0 {
			return nil
		}
		for _, field := range fields {
			list = append(list, model.Finding{
				Object: ref, Severity: model.Warning, Field: fieldOf(f.Name, field),
				Message: "no client can match: no listener of Gateway " + model.JoinSome(names) + " requests client " +
					"certificates; state spec.tls.frontend there, or tls.clientValidation in a ClientPolicy",
			})
		}
	}
	return list
}

// asksClients tells whether a listener of a Gateway asks for clients' certificates, or may: a policy says so for some.
func (r reporter) asksClients(c *flow.Ctx, gateway model.ObjectRef) bool {
	o, found := flow.Fetch(c, r.inputs.Sources.Gateways.Collection(), gateway)
	if !found {
		return true // which is told elsewhere
	}
	if slices.ContainsFunc(r.listenersOf(c, gateway), func(l gatewayListener) bool { return l.AsksClients }) {
		return true
	}
	class := model.Ref(model.KindGatewayClass, "", string(o.Spec.GatewayClassName))
	for _, at := range []model.ObjectRef{gateway, class} {
		for _, p := range r.Store.policiesOn(c, at, model.KindClientPolicy).All() {
			if spec, states := p.featureSpec("tls"); states && strings.Contains(spec, "clientValidation") {
				return true
			}
		}
	}
	return false
}
