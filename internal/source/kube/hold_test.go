package kube

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// dangles has *is set if, in any turn of the graph, the place's route names a Service that is not there or has no
// endpoints.
func (p *place) dangles(is *atomic.Bool) option {
	return func(c *Config) {
		sources := kinds.SourcesOf(c.Sources)
		slices := flow.Group(sources.EndpointSlices.Collection(), "probe/slices",
			func(ref model.ObjectRef, o sliceObject) []model.ObjectRef {
				if len(o.Spec.Endpoints) == 0 {
					return nil
				}
				return []model.ObjectRef{model.Ref(model.KindService, ref.Namespace(),
					o.Meta.Labels.Get(discoveryv1.LabelServiceName))}
			}, func(model.ObjectRef, sliceObject) string { return "" })
		flow.Map(sources.HTTPRoutes.Collection(), "probe/route",
			func(f *flow.Ctx, ref model.ObjectRef, o routeObject) (bool, bool) {
				if ref == p.ref(model.KindHTTPRoute, "shop") {
					service := p.ref(model.KindService, string(o.Spec.Rules[0].BackendRefs[0].Name))
					_, there := flow.Fetch(f, sources.Services.Collection(), service)
					_, sliced := flow.Fetch(f, slices, service)
					if !there || !sliced {
						is.Store(true)
					}
				}
				return false, false
			})
	}
}

type sliceObject = input.Object[input.EndpointSliceSpec]

// TestSwitch: a Service is made, the route is pointed at it at once, and the former Service is deleted, over and over,
// in either order of the first two. The graph never has a route that names what is not there.
func TestSwitch(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	p.backend("backend-0", "10.1.0.1")
	p.point("backend-0")
	var broken atomic.Bool
	r := p.read(slowly, p.dangles(&broken)).synced()
	for i := range 40 {
		old, now := fmt.Sprintf("backend-%d", i), fmt.Sprintf("backend-%d", i+1)
		if i%2 == 0 {
			p.backend(now, "10.1.0.2")
			p.point(now)
		} else {
			p.point(now)
			p.backend(now, "10.1.0.2")
		}
		p.deleteBackend(old)
		await(r, r.sources.HTTPRoutes, p.ref(model.KindHTTPRoute, "shop"), func(o routeObject) bool {
			return string(o.Spec.Rules[0].BackendRefs[0].Name) == now
		})
	}
	if broken.Load() {
		t.Error("there was a route that named a Service that was not there")
	}
	awaitGone(r, r.sources.Services, p.ref(model.KindService, "backend-39"))
}

// TestServiceMadeAnew: a Service that is deleted and made again in one go was there all the time.
func TestServiceMadeAnew(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	p.backend("one", "10.1.0.1")
	p.point("one")
	var broken atomic.Bool
	r := p.read(slowly, p.dangles(&broken)).synced()
	services := follows(r, r.sources.Services, p.ref(model.KindService, "one"))
	before, _ := get(r, r.sources.Services, p.ref(model.KindService, "one"))
	p.deleteBackend("one")
	p.backend("one", "10.1.0.1")
	await(r, r.sources.Services, p.ref(model.KindService, "one"),
		func(o serviceObject) bool { return o.Meta.UID != before.Meta.UID })
	if broken.Load() {
		t.Error("it was gone")
	}
	if list := services.changes(); len(list) != 1 || list[0].Deleted {
		t.Errorf("changes %+v", list)
	}
}

// backend makes a Service and its endpoints.
func (p *place) backend(name, address string) {
	p.t.Helper()
	ctx := context.Background()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := p.Client.CoreV1().Services(p.namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
		Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(80))}},
	}
	if _, err := p.Client.DiscoveryV1().EndpointSlices(p.namespace).Create(ctx, slice,
		metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) deleteBackend(name string) {
	p.t.Helper()
	p.delete("/api/v1/namespaces/%s/services/" + name)
	p.delete("/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices/" + name)
}

// point has the place's route send to a Service.
func (p *place) point(service string) {
	p.t.Helper()
	p.patch("test", "/apis/gateway.networking.k8s.io/v1/namespaces/%s/httproutes/shop", "",
		fmt.Sprintf(`{"spec":{"rules":[{"backendRefs":[{"name":%q,"port":80}]}]}}`, service))
}
