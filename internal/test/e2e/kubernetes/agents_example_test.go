package kubernetes

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAgentsExample applies examples/kubernetes/agents.yaml, and nothing else: two agents get certificates, call the
// tools that they may, and are refused others.
func TestAgentsExample(t *testing.T) {
	s := newStage(t)
	ctx := context.Background()
	s.Cleanup(func() {
		s.until("namespace agents is gone", func() (string, bool) {
			_ = s.Client.CoreV1().Namespaces().Delete(ctx, "agents", metav1.DeleteOptions{})
			_, err := s.Client.CoreV1().Namespaces().Get(ctx, "agents", metav1.GetOptions{})
			return "", apierrors.IsNotFound(err)
		})
	})
	if err := s.ApplyFiles(ctx, "../../../../examples/kubernetes/agents.yaml"); err != nil {
		t.Fatal(err)
	}
	const refused = `error: calling "tools/call": Access to this tool is forbidden.`
	for job, want := range map[string][]string{
		"accountant": {"get-sum", "3", refused, refused},
		"buyer":      {"order", refused, "ordered 10 of tea", refused},
	} {
		s.until(job+" has done its calls", func() (string, bool) {
			pods, err := s.Client.CoreV1().Pods("agents").List(ctx, metav1.ListOptions{LabelSelector: "job-name=" + job})
			if err != nil || len(pods.Items) == 0 {
				return "no pod", false
			}
			text, err := s.Client.CoreV1().Pods("agents").GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			if err != nil {
				return err.Error(), false
			}
			return string(text), strings.TrimSpace(string(text)) == strings.Join(want, "\n")
		})
	}
}
