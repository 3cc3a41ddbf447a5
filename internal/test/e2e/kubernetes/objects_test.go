package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/test/kubetest"
)

// shop sets up two echo servers, blue and green, a Gateway, and the route web from shop.example to blue. It returns the
// Gateway's address when a request was answered. more is said of the Gateway.
func (s *stage) shop(gatewayName string, more ...string) (address string) {
	s.Helper()
	s.apply(echo(s.namespace, "blue", 1) + echo(s.namespace, "green", 1) + gateway(s.namespace, gatewayName, more...) +
		route(s.namespace, "web", gatewayName, "shop.example", "blue"))
	address = s.address(gatewayName)
	s.ready(s.namespace, "app", 2)
	s.gets(address, "shop.example", "/", by("blue"))
	s.live("web")
	return address
}

// fleet is shop with a DataPlane.
func (s *stage) fleet(name, spec string) (address string) {
	s.Helper()
	s.apply(dataPlane(s.namespace, name, spec))
	return s.shop(name, "infrastructure: {parametersRef: {group: cardea.dev, kind: DataPlane, name: "+name+"}}")
}

// small is for Gateways that soon go: their pods don't drain for long. It is of the DataPlane small.
const small = "infrastructure: {parametersRef: {group: cardea.dev, kind: DataPlane, name: small}}"

// managed selects what Cardea made.
const managed = "app.kubernetes.io/managed-by=cardea"

// manyLabel is on routes that are made in numbers.
const manyLabel = "cardea.dev/many"

// routes makes routes to blue, and returns their hosts.
func (s *stage) routes(gateway, name string, n int) (hosts []string) {
	s.Helper()
	var running sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		name := fmt.Sprintf("%s-%d", name, i)
		hosts = append(hosts, name+".example")
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			port := gatewayv1.PortNumber(80)
			r := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{manyLabel: ""}}}
			r.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: gatewayv1.ObjectName(gateway)}}
			r.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(name + ".example")}
			r.Spec.Rules = []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
				BackendObjectReference: gatewayv1.BackendObjectReference{Name: "blue", Port: &port},
			}}}}}
			if _, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Create(context.Background(), r,
				metav1.CreateOptions{}); err != nil {
				s.Errorf("create route %s: %v", name, err)
			}
		})
	}
	running.Wait()
	return hosts
}

// echo states a Deployment and a Service of echo servers.
func echo(namespace, name string, replicas int) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: echo
        image: %[4]s
        env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
`, namespace, name, replicas, kubetest.EchoImage) + service(namespace, name, name)
}

// service states a Service of the pods of an app.
func service(namespace, name, app string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s}
spec: {selector: {app: %[3]s}, ports: [{port: 80, targetPort: 3000}]}
`, namespace, name, app)
}

// gateway states a Gateway with more fields of its spec; if they are no listeners, with one HTTP listener.
func gateway(namespace, name string, more ...string) string {
	fields := append([]string{"gatewayClassName: cardea"}, more...)
	if !strings.Contains(strings.Join(more, ""), "listeners:") {
		fields = append(fields, "listeners: [{name: http, port: 80, protocol: HTTP}]")
	}
	return fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %[2]s, namespace: %[1]s}
spec: {%[3]s}
`, namespace, name, strings.Join(fields, ", "))
}

// route states an HTTPRoute from a host to a Service.
func route(namespace, name, gateway, host, service string) string {
	return fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  parentRefs: [{name: %[3]s}]
  hostnames: [%[4]s]
  rules: [{backendRefs: [{name: %[5]s, port: 80}]}]
`, namespace, name, gateway, host, service)
}

// dataPlane states a DataPlane.
func dataPlane(namespace, name, spec string) string {
	return fmt.Sprintf(
		"---\napiVersion: cardea.dev/v1alpha1\nkind: DataPlane\nmetadata: {name: %s, namespace: %s}\nspec: %s\n", name,
		namespace, spec,
	)
}

// xbackend states an XBackend that stands for a Service, by a name outside of the cluster.
func xbackend(namespace, name, service string) string {
	return xbackendAt(namespace, name, service+"."+namespace+".outside.test")
}

func xbackendAt(namespace, name, host string) string {
	return fmt.Sprintf(`---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: %[2]s, namespace: %[1]s}
spec: {type: ExternalHostname, port: {number: 80}, externalHostname: {hostname: %[3]s}}
`, namespace, name, host)
}

// xroute states an HTTPRoute from a host to an XBackend.
func xroute(namespace, name, gateway, host, backend string) string {
	return fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  parentRefs: [{name: %[3]s}]
  hostnames: [%[4]s]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: %[5]s}]}]
`, namespace, name, gateway, host, backend)
}
