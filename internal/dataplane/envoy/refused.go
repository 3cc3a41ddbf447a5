package envoy

import (
	"fmt"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// refusedBackends are the backends with a cluster or endpoints that a proxy refused. The proxy keeps what it accepted
// of them before, or has nothing.
type refusedBackends struct {
	// gateways have such backends. Most have none, and then their routes depend on nothing else.
	gateways *flow.Collection[model.ObjectRef, struct{}]
	refusals *flow.Collection[resource.AckStateKey, resource.Refusal]
}

func newRefusedBackends(refused *flow.Collection[resource.RefusalKey, resource.Refusal]) refusedBackends {
	byOrigin := flow.Group(refused, "envoy/refused-by-origin",
		func(k resource.RefusalKey, said resource.Refusal) []resource.AckStateKey {
			if said.Type != xdstypes.Cluster && said.Type != xdstypes.Endpoints {
				return nil
			}
			keys := []resource.AckStateKey{{Gateway: k.Gateway, Origin: k.Origin}}
			if k.Origin.Section != "" {
				keys = append(keys, resource.AckStateKey{Gateway: k.Gateway, Origin: resource.Origin{Object: k.Origin.Object}})
			}
			return keys
		}, flow.ByKey)
	refusals := flow.Map(byOrigin, "envoy/refused-backends",
		func(_ *flow.Ctx, _ resource.AckStateKey, rows flow.Members[resource.RefusalKey, resource.Refusal]) (
			resource.Refusal, bool,
		) {
			_, said := rows.At(0)
			return said, true
		})
	byGateway := flow.Group(refusals, "envoy/refused-by-gateway",
		func(k resource.AckStateKey, _ resource.Refusal) []model.ObjectRef {
			return []model.ObjectRef{k.Gateway}
		}, flow.ByKey)
	return refusedBackends{refusals: refusals, gateways: flow.Map(byGateway, "envoy/gateways-of-refused-backends",
		func(*flow.Ctx, model.ObjectRef, flow.Members[resource.AckStateKey, resource.Refusal]) (struct{}, bool) {
			return struct{}{}, true
		})}
}

// refusalOf is what a proxy said of a backend that a rule sends requests to, with the backend's name; "" if it refused
// none.
func (in refusedBackends) refusalOf(c *flow.Ctx, gateway model.ObjectRef, rule model.Rule) string {
	if _, some := flow.Fetch(c, in.gateways, gateway); !some {
		return ""
	}
	for _, b := range rule.ListBackends() {
		if said, found := flow.Fetch(c, in.refusals,
			resource.AckStateKey{Gateway: gateway, Origin: naming.BackendOrigin(b)}); found {
			return fmt.Sprintf("%s: %s", b.Object, said.Message)
		}
	}
	return ""
}
