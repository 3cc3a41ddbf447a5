package kubernetes

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestClassMistyped: a Gateway gets the name of a class that does not exist. It is served as before, also by a Cardea
// that is started meanwhile; edits of its routes are served; its status says what is wrong. Named right again, it is
// accepted. Given to another controller, it is served no more.
func TestClassMistyped(t *testing.T) {
	s := newStage(t)
	address := s.fleet("edge", "{pod: {drainSeconds: 2}}")
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	was, pods := s.deployment("edge"), s.ready(s.namespace, proxiesOf("edge"), 1)
	class := func(name string) {
		if _, err := s.api.GatewayV1().Gateways(s.namespace).Patch(context.Background(), "edge", types.MergePatchType,
			[]byte(fmt.Sprintf(`{"spec":{"gatewayClassName":%q}}`, name)), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	class("carrdea")
	s.gatewayIs("edge", "Accepted=False Pending: carrdea does not exist")
	s.sentTo("green", address)
	s.step("an edit is served under the wrong class")
	s.deletePod(s.controller())
	s.controller()
	s.sentTo("blue", address)
	s.step("a new Cardea serves it, too")
	class("cardea")
	s.gatewayIs("edge", "Accepted=True", "Programmed=True")
	if now := s.address("edge"); now != address {
		t.Errorf("the address was %s and is %s", address, now)
	}
	if d := s.deployment("edge"); d.UID != was.UID || d.Generation != was.Generation {
		t.Errorf("the Deployment is another one: %s", statusText(d))
	}
	if now := s.ready(s.namespace, proxiesOf("edge"), 1); now[0].UID != pods[0].UID {
		t.Error("the pod is another one")
	}
	calls.flawless()
	s.apply("apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: " + s.namespace +
		"}\nspec: {controllerName: example.com/other}\n")
	s.Cleanup(func() {
		if err := s.api.GatewayV1().GatewayClasses().Delete(context.Background(), s.namespace,
			metav1.DeleteOptions{}); err != nil {
			s.Error(err)
		}
	})
	class(s.namespace)
	s.until("all that was made is gone", func() (string, bool) {
		list, err := s.Client.AppsV1().Deployments(s.namespace).List(context.Background(),
			metav1.ListOptions{LabelSelector: proxiesOf("edge")})
		if err != nil {
			return err.Error(), false
		}
		g, err := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), "edge", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(len(list.Items), g.Finalizers), len(list.Items)+len(g.Finalizers) == 0
	})
}

// TestAddressUnsupported: a running Gateway gets an address of a kind that is not supported. It says so, and is served
// as before, edits included.
func TestAddressUnsupported(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	s.apply(gateway(s.namespace, "edge", "addresses: [{type: Hostname, value: edge.example}]"))
	s.gatewayIs("edge", "Accepted=False UnsupportedAddress", "Programmed=False")
	calls.moves(100)
	s.sentTo("green", address)
	s.apply(gateway(s.namespace, "edge", "addresses: []"))
	s.gatewayIs("edge", "Accepted=True", "Programmed=True")
	calls.flawless()
}
