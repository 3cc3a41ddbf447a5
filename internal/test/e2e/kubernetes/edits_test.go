package kubernetes

import (
	"context"
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sentTo has the route web send to another Service, and waits until it does and says so.
func (s *stage) sentTo(service, address string) {
	s.Helper()
	r, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Get(context.Background(), "web", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.apply(route(s.namespace, "web", string(r.Spec.ParentRefs[0].Name), "shop.example", service))
	s.gets(address, "shop.example", "/", by(service))
	s.live("web")
}

// sameController says whether Cardea has run all the time.
func (s *stage) sameController(was corev1.Pod) {
	s.Helper()
	now := s.controller()
	if was.UID != now.UID || was.Status.ContainerStatuses[0].RestartCount != now.Status.ContainerStatuses[0].RestartCount {
		s.Errorf("Cardea was started again: %s", statusText(now.Status.ContainerStatuses))
	}
}

// scale gives Cardea so many replicas, and waits until they are there.
func (s *stage) scale(replicas int) {
	s.Helper()
	s.step("Cardea has %d replicas", replicas)
	_, err := s.Client.AppsV1().Deployments(system).UpdateScale(context.Background(), "cardea", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "cardea", Namespace: system},
		Spec:       autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
	}, metav1.UpdateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.until(fmt.Sprintf("%d Cardeas run", replicas), func() (string, bool) {
		pods, err := s.allPods(system, ours)
		return fmt.Sprint(len(pods), err), err == nil && len(pods) == replicas
	})
}

// kill ends all containers of a pod by SIGKILL.
func (s *stage) kill(pod corev1.Pod) {
	s.Helper()
	s.step("SIGKILL for %s", pod.Name)
	if err := s.KillPod(pod.Namespace, pod.Name); err != nil {
		s.Fatal(err)
	}
}

// deletePod deletes a pod, and returns when it is gone.
func (s *stage) deletePod(pod corev1.Pod) {
	s.Helper()
	s.step("pod %s is deleted", pod.Name)
	pods := s.Client.CoreV1().Pods(pod.Namespace)
	if err := pods.Delete(context.Background(), pod.Name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	s.until("pod "+pod.Name+" is gone", func() (string, bool) {
		now, err := pods.Get(context.Background(), pod.Name, metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err) || err == nil && now.UID != pod.UID
	})
}

// alone waits until nothing is left of the tests before, whose namespaces go while others run.
func (s *stage) alone() {
	s.Helper()
	s.until("nothing is left of other tests", func() (string, bool) {
		list, err := s.Client.CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{LabelSelector: testLabel})
		if err != nil {
			return err.Error(), false
		}
		var others []string
		for _, n := range list.Items {
			if n.Name != s.namespace {
				others = append(others, statusText(n.Status))
			}
		}
		return strings.Join(others, "\n"), len(others) == 0
	})
}
