package kubernetes

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestInstall is the first minute, as README and examples/kubernetes tell it: install.yaml, a Gateway and a route, and
// a request is answered.
func TestInstall(t *testing.T) {
	s := newStage(t)
	s.example("first-gateway.yaml")
	address := s.address("first")
	s.gets(address, "any.example", "/hello",
		func(a answer) bool { return a.Status == 200 && a.Path == "/hello" && a.Host == "any.example" })

	s.example("two-replicas.yaml")
	s.until("two proxies", func() (string, bool) {
		list, err := s.Client.AppsV1().Deployments(s.namespace).List(context.Background(), metav1.ListOptions{
			LabelSelector: "gateway.networking.k8s.io/gateway-name=first,team=shop",
		})
		if err != nil || len(list.Items) != 1 {
			return fmt.Sprint(list, err), false
		}
		return fmt.Sprintf("%+v", list.Items[0].Status), list.Items[0].Status.ReadyReplicas == 2
	})
	s.gets(s.address("first"), "any.example", "/again",
		func(a answer) bool { return a.Status == 200 && a.Path == "/again" })
}
