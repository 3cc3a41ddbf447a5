package main

import (
	"fmt"
	"runtime"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

const changes = 200 // of which the CPU time is a mean

// pods measures what one pod's change costs among many, without files, sockets and proxies.
func (b *bench) pods() error {
	for _, n := range []int{10, 100} {
		p := newPools(n, 100)
		what := func(text string) string { return fmt.Sprintf("%d pods in %d pools: %s", n*p.pods, n, text) }
		for _, e := range p.edits() {
			w := p.Work(e.make)
			row(what(e.what), fmt.Sprintf("%d transforms run, %d values changed", w.Runs, w.Changes),
				fmt.Sprintf("sent: %s, %.2f kB", strings.Join(names(w), ", "), float64(w.Bytes)/1000),
				"one resource; no more at 10,000 than at 1,000")
		}
		mean := p.Mean(changes, func(batch *flow.Batch, i int) { p.setSlice(batch, i%n, p.pods, i/n%2 == 1) })
		row(what("one change"), fmt.Sprintf("%.3f CPU-ms (mean of %d)", table.Milli(mean), changes), "", "")
		runtime.KeepAlive(p)
	}
	return nil
}

// edit is a change of one pod.
type edit struct {
	what string
	make func(*flow.Batch)
}

// edits are changes of one pool, to be made in this order.
func (p *pools) edits() []edit {
	i := p.n / 2
	return []edit{
		{"a pod becomes unready", func(b *flow.Batch) { p.setSlice(b, i, p.pods, false) }},
		{"it becomes ready, and another comes", func(b *flow.Batch) { p.setSlice(b, i, p.pods+1, true) }},
		{"a pod goes", func(b *flow.Batch) { p.setSlice(b, i, p.pods, true) }},
	}
}

// names are the resources that are sent.
func names(w scene.Work) (list []string) {
	for _, key := range w.Sent {
		list = append(list, xdstypes.Name(key.Type)+" "+key.Name)
	}
	return list
}

// pools is inference pools on one Gateway, each with a route, a host, a picker and pods of its own.
type pools struct {
	*scene.Scene
	n, pods int // pools, and pods of each
}

func newPools(n, pods int) *pools {
	p := &pools{scene.New(0, scene.Listener), n, pods}
	p.Apply(func(b *flow.Batch) {
		for i := range n {
			p.setPool(b, i)
			p.setSlice(b, i, pods, true)
		}
	})
	return p
}

// setPool sets a pool, its route, and its picker, which has one endpoint.
func (p *pools) setPool(b *flow.Batch, i int) {
	name, port, target := scene.Name(i), gatewayv1.PortNumber(80), int32(9)
	ref := model.Ref(model.KindInferencePool, scene.Namespace, name)
	p.Sources.InferencePools.Set(b, ref, input.Object[inferencev1.InferencePoolSpec]{Spec: &inferencev1.InferencePoolSpec{
		Selector:    inferencev1.LabelSelector{MatchLabels: map[inferencev1.LabelKey]inferencev1.LabelValue{"app": "m"}},
		TargetPorts: []inferencev1.Port{{Number: 8000}}, AppProtocol: inferencev1.AppProtocolHTTP,
		EndpointPickerRef: &inferencev1.EndpointPickerRef{
			Kind: "Service", Name: name, Port: &inferencev1.Port{Number: port},
		},
	}})
	p.Sources.Services.Set(b, model.Ref(model.KindService, scene.Namespace, name), input.Object[corev1.ServiceSpec]{
		Spec: &corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port, Protocol: corev1.ProtocolTCP}}},
	})
	p.Sources.EndpointSlices.Set(b, model.Ref(model.KindEndpointSlice, scene.Namespace, "picker-"+name),
		input.Object[input.EndpointSliceSpec]{
			Meta: model.Meta{Labels: model.Labels{{Key: discoveryv1.LabelServiceName, Value: name}}},
			Spec: &input.EndpointSliceSpec{
				AddressType: discoveryv1.AddressTypeIPv4,
				Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}}},
				Ports:       []discoveryv1.EndpointPort{{Port: &target}},
			},
		})
	group, kind := gatewayv1.Group(model.KindInferencePool.Group()), gatewayv1.Kind("InferencePool")
	route := model.Ref(model.KindHTTPRoute, scene.Namespace, name)
	p.Sources.HTTPRoutes.Set(b, route, input.Object[gatewayv1.HTTPRouteSpec]{
		Spec: &gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: scene.Gateway}}},
			Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(name + ".example.com")},
			Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
				BackendObjectReference: gatewayv1.BackendObjectReference{
					Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(name),
				},
			}}}}},
		},
	})
}

// setSlice sets the pods of a pool, 155 at most; the first one may be not ready. All addresses are equally long.
func (p *pools) setSlice(b *flow.Batch, i, pods int, ready bool) {
	list := make([]discoveryv1.Endpoint, pods)
	for pod := range list {
		list[pod].Addresses = []string{fmt.Sprintf("10.%d.%d.%d", 100+i/100, 100+i%100, 100+pod)}
	}
	list[0].Conditions.Ready = &ready
	p.Sources.EndpointSlices.Set(b, model.Ref(model.KindEndpointSlice, scene.Namespace, "pool-"+scene.Name(i)),
		input.Object[input.EndpointSliceSpec]{
			Meta: model.Meta{Labels: model.Labels{{Key: model.InferencePoolLabel, Value: scene.Name(i)}}},
			Spec: &input.EndpointSliceSpec{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: list},
		})
}
