package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestFlips: a Service is made and the route is pointed at it at once; it is pointed back, and the Service is deleted
// at once. Watches of different kinds tell of that in any order, and the endpoints come when the cluster has made them:
// still, no request fails.
func TestFlips(t *testing.T) {
	const flips, rate = 200, 500
	s := newStage(t)
	address := s.shop("edge")
	calls := s.traffic(rate, address, by("blue", "green"), "shop.example")
	var late []pause
	for i := range flips {
		name := fmt.Sprintf("green-%d", i)
		s.makeService(name, "green")
		pointed := time.Now()
		s.point("web", name)
		if p := (pause{pointed, s.backed(name)}); p.ended.Sub(p.began) > hold {
			late = append(late, p)
		}
		s.gets(address, "shop.example", "/", by("green"))
		s.point("web", "blue")
		if err := s.Client.CoreV1().Services(s.namespace).Delete(context.Background(), name,
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.gets(address, "shop.example", "/", by("blue"))
	}
	s.live("web")
	s.step("%d flips; %d times the cluster took longer than %v to make endpoints", flips, len(late), hold)
	if len(late) > flips/2 {
		t.Errorf("the machine was too busy to tell")
	}
	calls.flawlessBut(func(f failure) bool { return slices.ContainsFunc(late, func(p pause) bool { return p.has(f.at) }) })
}

// hold is how long a route waits for what it begins to name (see the architecture).
const hold = 100 * time.Millisecond

// pause is a time in which the cluster, not Cardea, lets requests fail: a route names a Service that has no endpoints.
type pause struct{ began, ended time.Time }

// has says whether a request of that time is hit: the one way to the proxy and the other take their time, too.
func (p pause) has(at time.Time) bool {
	return at.After(p.began) && at.Before(p.ended.Add(time.Second))
}

// makeService makes a Service of a Deployment of echo servers.
func (s *stage) makeService(name, app string) {
	s.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(3000)}},
	}}
	if _, err := s.Client.CoreV1().Services(s.namespace).Create(context.Background(), service,
		metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// point has a route send to a Service.
func (s *stage) point(route, service string) {
	s.Helper()
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/rules/0/backendRefs/0/name", "value": %q}]`, service)
	if _, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Patch(
		context.Background(), route, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

// backed waits until a Service has endpoints, and returns when they were seen.
func (s *stage) backed(service string) (at time.Time) {
	s.Helper()
	s.until("Service "+service+" has endpoints", func() (string, bool) {
		list, err := s.Client.DiscoveryV1().EndpointSlices(s.namespace).List(context.Background(),
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
		if err != nil {
			return err.Error(), false
		}
		at = time.Now()
		return fmt.Sprint(len(list.Items)), len(list.Items) > 0 && len(list.Items[0].Endpoints) > 0
	})
	return at
}
