// Package scene is many routes in the pure part of Cardea, without files, sockets and proxies, and what an edit of them
// costs there.
//
// It owns the objects that all parts of the bench measure with, and counts and CPU times of this process. It must never
// know what is printed. Start reading at New.
package scene

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Scene is N routes on one Gateway, each with its own host, Service and slice.
type Scene struct {
	*world.World
	N         int
	edits     int
	followers []*flow.Follower[resource.Key, resource.Resource]
}

// Namespace and Gateway are where the objects are, and the name of the Gateway.
const (
	Namespace = "bench"
	Gateway   = "web"
)

// Listener serves without TLS, SecureListener with the certificate of the scene's Secret.
var (
	Listener       = gatewayv1.Listener{Name: "http", Port: 8080, Protocol: gatewayv1.HTTPProtocolType}
	SecureListener = gatewayv1.Listener{Name: "https", Port: 8443, Protocol: gatewayv1.HTTPSProtocolType,
		TLS: &gatewayv1.ListenerTLSConfig{
			CertificateRefs: []gatewayv1.SecretObjectReference{{Name: "certificate"}},
		}}
)

// New makes a scene whose Gateway has the listener l, and in which kinds of extensions are read, too.
func New(n int, l gatewayv1.Listener, extensions ...world.Extension) *Scene {
	s := &Scene{N: n, World: world.New(world.Config{
		Extensions: extensions,
		Dialects:   dataplanes.All(), Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
		Budgets: model.DefaultBudgets,
	})}
	for _, c := range s.Outputs.Resources {
		s.followers = append(s.followers, flow.Follow(c))
	}
	in := s.Sources
	s.Graph.Apply("load", func(b *flow.Batch) {
		in.GatewayClasses.Set(b, model.Ref(model.KindGatewayClass, "", "cardea"), input.Object[gatewayv1.GatewayClassSpec]{
			Spec: &gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName},
		})
		gateway := model.Ref(model.KindGateway, Namespace, Gateway)
		in.Gateways.Set(b, gateway, input.Object[gatewayv1.GatewaySpec]{Spec: &gatewayv1.GatewaySpec{
			GatewayClassName: "cardea", Listeners: []gatewayv1.Listener{l},
		}})
		s.SetSecret(b)
		for i := range n {
			s.SetRoute(b, i, "")
			s.setService(b, i)
			s.SetSlice(b, i, 0)
		}
		in.MarkSynced(b)
	})
	s.Graph.Settle()
	return s
}

// Name is that of a route, its Service and its slice.
func Name(i int) string { return fmt.Sprintf("app-%05d", i) }

// SetRoute sets a route of one rule; header, if not "", is the value of a response header.
func (s *Scene) SetRoute(b *flow.Batch, i int, header string) {
	prefix, root, port := gatewayv1.PathMatchPathPrefix, "/", gatewayv1.PortNumber(80)
	backend := gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(Name(i)), Port: &port}
	rule := gatewayv1.HTTPRouteRule{
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: &prefix, Value: &root}}},
		BackendRefs: []gatewayv1.HTTPBackendRef{{
			BackendRef: gatewayv1.BackendRef{BackendObjectReference: backend},
		}},
	}
	if header != "" {
		rule.Filters = []gatewayv1.HTTPRouteFilter{{
			Type:                   gatewayv1.HTTPRouteFilterResponseHeaderModifier,
			ResponseHeaderModifier: &gatewayv1.HTTPHeaderFilter{Set: []gatewayv1.HTTPHeader{{Name: "x-edit", Value: header}}},
		}}
	}
	s.edits++
	s.Sources.HTTPRoutes.Set(b, model.Ref(model.KindHTTPRoute, Namespace, Name(i)), input.Object[gatewayv1.HTTPRouteSpec]{
		Meta: model.Meta{Generation: int64(s.edits)},
		Spec: &gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: Gateway}}},
			Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(Name(i) + ".example.com")},
			Rules:           []gatewayv1.HTTPRouteRule{rule},
		},
	})
}

func (s *Scene) setService(b *flow.Batch, i int) {
	s.Sources.Services.Set(b, model.Ref(model.KindService, Namespace, Name(i)), input.Object[corev1.ServiceSpec]{
		Spec: &corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
	})
}

// SetSlice sets a slice of one endpoint; edit selects another port.
func (s *Scene) SetSlice(b *flow.Batch, i, edit int) {
	port := int32(20000 + edit)
	s.Sources.EndpointSlices.Set(b, model.Ref(model.KindEndpointSlice, Namespace, Name(i)),
		input.Object[input.EndpointSliceSpec]{
			Meta: model.Meta{Labels: model.Labels{{Key: "kubernetes.io/service-name", Value: Name(i)}}},
			Spec: &input.EndpointSliceSpec{
				AddressType: discoveryv1.AddressTypeIPv4,
				Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}}},
				Ports:       []discoveryv1.EndpointPort{{Port: &port}},
			},
		})
}
