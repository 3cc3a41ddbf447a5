package kube

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

const shopObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: "%s"}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: "%s"}
spec:
  gatewayClassName: "%s"
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: "%s", labels: {app: shop}}
spec:
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: shop-1, namespace: "%s", labels: {kubernetes.io/service-name: shop, other: label}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3], conditions: {ready: true}, nodeName: somewhere}]
ports: [{name: http, port: 8080}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: "%s", labels: {app: shop}}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{name: shop, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: open, namespace: "%s"}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: elsewhere}]
  to: [{group: "", kind: Service}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: app, namespace: "%s"}
spec: {type: ExternalHostname, port: {number: 3000}, externalHostname: {hostname: app.example}}
---
apiVersion: cardea.dev/v1alpha1
kind: DataPlane
metadata: {name: small, namespace: "%s"}
spec: {replicas: 1}
`

// TestLoad reads one object of each kind, with what is kept of it and nothing else.
func TestLoad(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	r := p.read().synced()
	s := r.sources
	gateway := await(r, s.Gateways, p.ref(model.KindGateway, "web"), anyway)
	if l := gateway.Spec.Listeners; len(l) != 1 || l[0].AllowedRoutes == nil {
		t.Errorf("listeners %+v, want one, with the API server's defaults", l)
	}
	if m := gateway.Meta; m.UID == "" || m.Generation != 1 || m.Created.IsZero() || m.Edit.By != "testcluster" || m.Edit.At.IsZero() {
		t.Errorf("the metadata is %+v", m)
	}
	await(r, s.GatewayClasses, model.Ref(model.KindGatewayClass, "", p.namespace), func(o input.Object[gatewayv1.GatewayClassSpec]) bool {
		return o.Spec.ControllerName == model.ControllerName
	})
}
