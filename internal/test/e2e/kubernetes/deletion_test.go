package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestNamespaceDeleted: a Namespace is deleted with its Gateway and all. It is gone within 30 s, so no finalizer is
// left that nobody takes away; another Gateway goes on.
func TestNamespaceDeleted(t *testing.T) {
	other, s := newStage(t), newStage(t)
	calls := other.traffic(100, other.shop("edge"), by("blue"), "shop.example")
	s.fleet("edge", "{pod: {drainSeconds: 3}}")
	namespaces := s.Client.CoreV1().Namespaces()
	began := time.Now()
	if err := namespaces.Delete(context.Background(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("the Namespace is gone", func() (string, bool) {
		n, err := namespaces.Get(context.Background(), s.namespace, metav1.GetOptions{})
		if err != nil {
			return err.Error(), apierrors.IsNotFound(err)
		}
		return statusText(n.Status), false
	})
	// Of this the drain takes 3 s. The rest is the cluster's, which looks every 8 s whether something is left.
	took := time.Since(began)
	if took > 30*time.Second {
		t.Errorf("it took %v, which is longer than clients wait", took)
	}
	s.step("it is gone, after %v", took)
	calls.moves(50)
	calls.flawless()
}

// TestGatewayDeleted: a Gateway is gone while its pods drain, with all that was made for it.
func TestGatewayDeleted(t *testing.T) {
	s := newStage(t)
	s.fleet("edge", "{pod: {drainSeconds: 20}}")
	began := time.Now()
	if err := s.api.GatewayV1().Gateways(s.namespace).Delete(context.Background(), "edge",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("the Gateway is gone", func() (string, bool) {
		_, err := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), "edge", metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
	s.step("it is gone, after %v", time.Since(began))
	if pods, err := s.allPods(s.namespace, proxiesOf("edge")); err != nil || len(pods) == 0 {
		t.Errorf("it has waited for its pods: %v", err)
	}
	s.until("nothing is left but pods that drain", func() (string, bool) {
		ctx, own := context.Background(), metav1.ListOptions{LabelSelector: proxiesOf("edge")}
		core := s.Client.CoreV1()
		services, err1 := core.Services(s.namespace).List(ctx, own)
		accounts, err2 := core.ServiceAccounts(s.namespace).List(ctx, own)
		maps, err3 := core.ConfigMaps(s.namespace).List(ctx, own)
		deployments, err4 := s.Client.AppsV1().Deployments(s.namespace).List(ctx, own)
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				return err.Error(), false
			}
		}
		left := len(services.Items) + len(accounts.Items) + len(maps.Items) + len(deployments.Items) +
			len(s.pods(s.namespace, proxiesOf("edge")))
		return fmt.Sprint(left), left == 0
	})
	s.until("the route has no parent", func() (string, bool) {
		r, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Get(context.Background(), "web", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		return statusText(r.Status), len(r.Status.Parents) == 0
	})
}

// TestGatewayMadeAnew: a Gateway is deleted and made again at once, over and over. Each serves, though it shares all
// names with the one that goes.
func TestGatewayMadeAnew(t *testing.T) {
	s := newStage(t)
	s.fleet("edge", "{pod: {drainSeconds: 1}}")
	gateways := s.api.GatewayV1().Gateways(s.namespace)
	for range 3 {
		old, err := gateways.Get(context.Background(), "edge", metav1.GetOptions{})
		if err == nil {
			err = gateways.Delete(context.Background(), "edge", metav1.DeleteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		again := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: old.Spec}
		s.until("the Gateway can be made again", func() (string, bool) {
			_, err := gateways.Create(context.Background(), again, metav1.CreateOptions{})
			return fmt.Sprint(err), err == nil
		})
		s.until("it is served at its address", func() (string, bool) {
			address := s.address("edge")
			a, err := s.get(address, "shop.example", "/")
			return fmt.Sprintf("%s: %+v, %v", address, a, err), err == nil && by("blue")(a)
		})
		s.live("web")
		s.ready(s.namespace, proxiesOf("edge"), 1)
		s.step("it serves again")
	}
}

// TestRoutesDeleted: a thousand routes are deleted at once. The one that remains is served all the time, and the
// Gateway counts one.
func TestRoutesDeleted(t *testing.T) {
	const routes = 1000
	s := newStage(t)
	address := s.shop("edge")
	hosts := s.routes("edge", "many", routes)
	s.attached("edge", routes+1)
	s.gets(address, hosts[routes-1], "/", by("blue"))
	s.step("there are %d routes", routes+1)
	calls := s.traffic(100, address, by("blue"), "shop.example")
	err := s.api.GatewayV1().HTTPRoutes(s.namespace).DeleteCollection(
		context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: manyLabel})
	if err != nil {
		t.Fatal(err)
	}
	s.step("they are deleted")
	s.attached("edge", 1)
	for _, host := range []string{hosts[0], hosts[routes/2], hosts[routes-1]} {
		s.gets(address, host, "/", func(a answer) bool { return a.Status == http.StatusNotFound })
	}
	s.step("they are gone")
	s.live("web")
	s.address("edge")
	calls.flawless()
}
