package cluster_test

import (
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cardea.dev/cardea/internal/test/cluster"
)

// alone tells the test binary that it is started by TestStop, so that no other cluster is in the process.
const alone = "TESTCLUSTER_ALONE"

// TestStop starts a cluster with a pod, stops it, and does so again: what is left of the first is in the way of the
// second.
func TestStop(t *testing.T) {
	cluster.Require(t)
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStop$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	for range 2 {
		c, err := cluster.Up(t.Context(), cluster.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.Up(t.Context(), cluster.Options{}); err == nil {
			t.Fatal("a second cluster at the same time")
		}
		p := &place{c, t, metav1.NamespaceDefault}
		p.pod("pod", "", echo)
		p.until("pod", ready)
		p.service("pod", corev1.ServiceTypeLoadBalancer, corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(3000)})
		c.Stop()
		if err := goleak.Find(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(c.Kubeconfig); err == nil {
			t.Fatal("its files are left")
		}
	}
}
