package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/problem"
)

// ProxyName names what is made for a Gateway's data plane: short, and the same for the same Gateway.
func ProxyName(gateway model.ObjectRef) string {
	sum := sha256.Sum256([]byte(gateway.NamespacedName()))
	return proxyPrefix + hex.EncodeToString(sum[:6])
}

const proxyPrefix = "envoy-proxy-"

// IsProxyName says whether a name may be that of a Gateway's data plane.
func IsProxyName(name string) bool { return strings.HasPrefix(name, proxyPrefix) }

// proxyOf says what to run for a Gateway: for one that is not ours, but was, nothing any more.
func proxyOf(
	gateways *flow.Collection[model.ObjectRef, gatewayFacts], planes dataPlanes,
) func(*flow.Ctx, model.ObjectRef, input.Object[gatewayv1.GatewaySpec]) (plan.ProxySpec, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.GatewaySpec]) (plan.ProxySpec, bool) {
		f, ours := flow.Fetch(c, gateways, ref)
		if !ours {
			return plan.ProxySpec{UID: o.Meta.UID, Name: ProxyName(ref), HasFinalizer: true, Deleting: true}, o.Meta.HasFinalizer
		}
		p := f.Proxy
		p.Accepted = f.isAccepted()
		for _, own := range f.Parameters {
			if o, found := flow.Fetch(c, planes.all, own.Ref); found {
				p.Parameters = append(p.Parameters, plan.DataPlaneParameters{Ref: own.Ref, Spec: *o.Spec})
			}
		}
		for i, l := range f.Listeners {
			port := plan.ProxyPort{Number: l.Port.Number, Bind: l.Port.Number + f.PortOffset, Transport: l.Port.Transport}
			if !problem.HasError(f.ListenerSpecs[i].Findings, "Accepted") && !slices.Contains(p.Ports, port) {
				p.Ports = append(p.Ports, port)
			}
		}
		slices.SortFunc(p.Ports, func(a, b plan.ProxyPort) int {
			return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Transport, b.Transport))
		})
		return p, true
	}
}
