package cluster_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestAPIServerAway stops the API server: what serves goes on, and what changes comes true when it is back.
func TestAPIServerAway(t *testing.T) {
	p := newPlace(t)
	p.pod("stays", "", echo)
	service := p.service("stays", corev1.ServiceTypeClusterIP,
		corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(3000)})
	p.answers(service.Spec.ClusterIP, "stays")

	p.StopAPIServer()
	if _, err := p.Client.Discovery().ServerVersion(); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("it still answers: %v", err)
	}
	if err := p.KillPod(p.namespace, "stays"); err != nil {
		t.Fatal(err)
	}
	p.answers(service.Spec.ClusterIP, "stays")
	if err := p.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.until("stays", func(object *corev1.Pod) bool {
		return object.Status.ContainerStatuses[0].RestartCount == 1 && ready(object)
	})
	p.pod("later", "echo here"+forever)
	p.until("later", ready)
}

// TestEtcdRestarts restarts etcd: nothing is lost.
func TestEtcdRestarts(t *testing.T) {
	p := newPlace(t)
	p.pod("before", "echo here"+forever)
	if err := p.RestartEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.until("before", ready)
	p.pod("after", "echo here"+forever)
	p.until("after", ready)
	if err := p.Client.CoreV1().Pods(p.namespace).Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestGatewayAPI installs the CRDs and uses one.
func TestGatewayAPI(t *testing.T) {
	p := newPlace(t)
	if err := p.InstallGatewayAPI(t.Context(), "experimental"); err != nil {
		t.Fatal(err)
	}
	class := `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: test},
		spec: {controllerName: example.com/test}}`
	if err := p.Apply(t.Context(), []byte(class)); err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context(), []byte(strings.Replace(class, "controllerName", "controler", 1))); err == nil {
		t.Error("a class without a controller is accepted")
	}
}
