package controller

import (
	"net"
	"net/url"
	"strconv"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/epp"
)

// pickerAdmin tells where a pool's picker has its admin API: on the first pod of its Service that is ready; false if
// none is. Several replicas know different things: one of them is asked.
func pickerAdmin(g *flow.Graph, p *plan.Plan) func(pool model.ObjectRef) (base string, ok bool) {
	return func(pool model.ObjectRef) (base string, ok bool) {
		g.View(func(v flow.View) {
			if _, runs := flow.Get(v, p.Pickers, pool); !runs {
				return
			}
			for gateway := range flow.All(v, p.Proxies) {
				at, _ := flow.Get(v, p.Backends, plan.BackendKey{Gateway: gateway, Backend: model.PickerKey(pool)})
				if len(at.Endpoints) > 0 {
					host := net.JoinHostPort(at.Endpoints[0].Address, strconv.Itoa(epp.AdminPort))
					base, ok = (&url.URL{Scheme: "http", Host: host}).String(), true
					return
				}
			}
		})
		return base, ok
	}
}
