package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestUninstall does what docs/kubernetes.md says, in order, and then what it says for those who did it in another
// order. It stands in the last file, for what it takes away the other tests need; it puts it back.
func TestUninstall(t *testing.T) {
	s := newShell(newStage(t))
	ctx := context.Background()
	again := func() {
		t.Helper()
		s.until("Cardea is installed", func() (string, bool) { // what is on its way out takes nothing new
			err := s.ApplyFiles(ctx, "../../../deploy/install.yaml")
			return fmt.Sprint(err), err == nil
		})
	}
	t.Cleanup(again)
	blocks := s.blocks("docs/kubernetes.md", "Uninstall")
	s.until("the other tests' Gateways are gone", func() (string, bool) {
		list, err := s.api.GatewayV1().Gateways("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		var left []string
		for _, g := range list.Items {
			ns, err := s.Client.CoreV1().Namespaces().Get(ctx, g.Namespace, metav1.GetOptions{})
			left = append(left, fmt.Sprintf("%s/%s of class %s, finalizers %v, deleted at %v; namespace %+v, deleted at %v, %v",
				g.Namespace, g.Name, g.Spec.GatewayClassName, g.Finalizers, g.DeletionTimestamp,
				ns.Status, ns.DeletionTimestamp, err))
		}
		return strings.Join(left, "; "), len(left) == 0
	})
	s.example("first-gateway.yaml")
	s.address("first")
	s.play(blocks[0])
	s.nothingMade("first")

	again()
	s.example("first-gateway.yaml")
	s.address("first")
	s.step("the controller goes first")
	quick := func(line string) {
		t.Helper()
		if out, err := s.run(line); err != nil {
			t.Fatal(out, err)
		}
	}
	quick("kubectl delete --wait=false -f deploy/install.yaml")
	s.until("Cardea is gone", func() (string, bool) {
		_, err := s.Client.CoreV1().Namespaces().Get(ctx, "cardea-system", metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
	quick("kubectl delete --wait=false gateway first")
	s.play(blocks[1])
	s.nothingMade("first")
	s.until("the class is gone", func() (string, bool) {
		_, err := s.api.GatewayV1().GatewayClasses().Get(ctx, "cardea", metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
}

// nothingMade waits until a Gateway is gone, and what was made for it.
func (s shell) nothingMade(name string) {
	s.Helper()
	s.until("nothing is left of Gateway "+name, func() (string, bool) {
		out, err := s.run(
			"kubectl get gateway,deployment,service,configmap,serviceaccount -l gateway.networking.k8s.io/gateway-name=" + name +
				" -o name",
		)
		_, gone := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), name, metav1.GetOptions{})
		return out + fmt.Sprint(err, gone), err == nil && out == "" && apierrors.IsNotFound(gone)
	})
}
