package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// port is where the Gateway listens, in its proxy's pod as well.
const port = 8080

const gatewayText = `
apiVersion: v1
kind: Namespace
metadata: {name: bench}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: bench}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 8080, protocol: HTTP}]}
`

// foreignText is a Gateway of another controller's class.
const foreignText = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: foreign}
spec: {controllerName: example.com/another}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: foreign, namespace: bench}
spec: {gatewayClassName: foreign, listeners: [{name: http, port: 8080, protocol: HTTP}]}
`

// writers is how many objects are written at once: the API server and etcd have two cores.
const writers = 16

func name(i int) string { return fmt.Sprintf("app-%05d", i) }

func host(name string) string { return name + ".example.com" }

// routes makes the routes from and to, each with its own host, Service and EndpointSlice.
func (s *stage) routes(ctx context.Context, from, to int) error {
	fast := rest.CopyConfig(s.Config)
	fast.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(fast)
	if err != nil {
		return err
	}
	return each(ctx, from, to, func(ctx context.Context, i int) error {
		if _, err := client.CoreV1().Services(namespace).Create(ctx, service(name(i)), metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, s.slice(name(i)), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return s.create(ctx, route(name(i), "web", name(i)))
	})
}

// each calls do for each number, several at a time.
func each(ctx context.Context, from, to int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := from; i < to && ctx.Err() == nil; i++ {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

func (s *stage) create(ctx context.Context, r *gatewayv1.HTTPRoute) error {
	_, err := s.api.GatewayV1().HTTPRoutes(namespace).Create(ctx, r, metav1.CreateOptions{})
	return err
}

// service has no ClusterIP and no selector, so only Cardea has work with it.
func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// slice has the backend's address.
func (s *stage) slice(name string) *discoveryv1.EndpointSlice {
	unnamed, tcp, port := "", corev1.ProtocolTCP, s.backend.port
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "bench",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{s.backend.host}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &unnamed, Protocol: &tcp, Port: &port}},
	}
}

// markHeader is what an edit changes: the value of a response header.
const markHeader = "x-mark"

func markOf(edit int) string { return fmt.Sprintf("edit-%06d", edit) }

// route is a route of one rule.
func route(name, gateway, service string) *gatewayv1.HTTPRoute {
	port := gatewayv1.PortNumber(80)
	return &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: gatewayv1.ObjectName(
				gateway,
			)}}},
			Hostnames: []gatewayv1.Hostname{gatewayv1.Hostname(host(name))},
			Rules: []gatewayv1.HTTPRouteRule{{
				Filters: []gatewayv1.HTTPRouteFilter{{
					Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier,
					ResponseHeaderModifier: &gatewayv1.HTTPHeaderFilter{Set: []gatewayv1.HTTPHeader{{Name: markHeader,
						Value: markOf(0)}}},
				}},
				BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
					BackendObjectReference: gatewayv1.BackendObjectReference{
						Name: gatewayv1.ObjectName(service), Port: &port,
					},
				}}},
			}},
		},
	}
}

// edit changes a route's mark to a new one of the same length.
func (s *stage) edit(ctx context.Context, route string) (mark string, generation int64, err error) {
	s.mark++
	mark = markOf(s.mark)
	patch := fmt.Sprintf(
		`[{"op":"replace","path":"/spec/rules/0/filters/0/responseHeaderModifier/set/0/value","value":%q}]`, mark,
	)
	r, err := s.api.GatewayV1().HTTPRoutes(namespace).Patch(ctx, route, types.JSONPatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		return "", 0, err
	}
	return mark, r.Generation, nil
}
