package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// What a story does is told with its time, so that failures of the traffic can be laid beside it.
func (s *stage) step(format string, args ...any) {
	s.Helper()
	s.Logf("%s %s", time.Now().Format(clock), fmt.Sprintf(format, args...))
}

// system is Cardea's own namespace.
const system = "cardea-system"

// ours selects Cardea's own pods.
const ours = "app.kubernetes.io/name=cardea"

// proxiesOf selects the pods, and all else that was made, of a Gateway.
func proxiesOf(gateway string) string { return gatewayv1.GatewayNameLabelKey + "=" + gateway }

// allPods are those that a selector finds, those that end included.
func (s *stage) allPods(namespace, selector string) ([]corev1.Pod, error) {
	list, err := s.Client.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// pods are those that a selector finds and that do not end.
func (s *stage) pods(namespace, selector string) []corev1.Pod {
	s.Helper()
	all, err := s.allPods(namespace, selector)
	if err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// ready waits until there are so many pods, all of them ready, and returns them.
func (s *stage) ready(namespace, selector string, n int) (pods []corev1.Pod) {
	s.Helper()
	s.until(fmt.Sprintf("%d pods %s are ready", n, selector), func() (string, bool) {
		pods = s.pods(namespace, selector)
		ready := 0
		var saw []string
		for _, p := range pods {
			saw = append(saw, p.Name+" "+statusText(p.Status.Conditions)+statusText(p.Status.ContainerStatuses))
			if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				ready++
			}
		}
		return strings.Join(saw, "\n"), ready == n && len(pods) == n
	})
	return pods
}

// controller waits until Cardea is ready, and returns its pod.
func (s *stage) controller() corev1.Pod {
	s.Helper()
	return s.ready(system, ours, 1)[0]
}

// deployment is the one of a Gateway.
func (s *stage) deployment(gateway string) appsv1.Deployment {
	s.Helper()
	list, err := s.Client.AppsV1().Deployments(s.namespace).List(context.Background(),
		metav1.ListOptions{LabelSelector: proxiesOf(gateway)})
	if err != nil {
		s.Fatal(err)
	}
	if len(list.Items) != 1 {
		s.Fatalf("Gateway %s has %d Deployments", gateway, len(list.Items))
	}
	return list.Items[0]
}

// settled says whether a Deployment has so many pods, all as it says now and ready.
func settled(d appsv1.Deployment, replicas int) bool {
	n := int32(replicas)
	return d.Status.ObservedGeneration == d.Generation && *d.Spec.Replicas == n &&
		d.Status.Replicas == n && d.Status.UpdatedReplicas == n && d.Status.AvailableReplicas == n
}

// programmed is the condition of a route that its proxies have acknowledged it.
const programmed = "cardea.dev/Programmed"

// live waits until routes are accepted, resolved and acknowledged, as they are now.
func (s *stage) live(routes ...string) {
	s.Helper()
	for _, name := range routes {
		s.routeIs(name, "Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs", programmed+"=True")
	}
}

// routeIs waits until a route's status has conditions ("Accepted=True", "ResolvedRefs=False BackendNotFound") for the
// route as it is now.
func (s *stage) routeIs(name string, conditions ...string) {
	s.Helper()
	s.until("HTTPRoute "+name+" is "+strings.Join(conditions, ", "), func() (string, bool) {
		r, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		return statusText(r.Status), len(r.Status.Parents) == 1 &&
			has(r.Status.Parents[0].Conditions, r.Generation, conditions...)
	})
}

// gatewayIs waits until a Gateway has conditions.
func (s *stage) gatewayIs(name string, conditions ...string) {
	s.Helper()
	s.until("Gateway "+name+" is "+strings.Join(conditions, ", "), func() (string, bool) {
		g, err := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		return statusText(g.Status), has(g.Status.Conditions, g.Generation, conditions...)
	})
}

// listenerIs waits until a Gateway's listener has conditions.
func (s *stage) listenerIs(gateway, listener string, conditions ...string) {
	s.Helper()
	s.until("listener "+listener+" is "+strings.Join(conditions, ", "), func() (string, bool) {
		g, err := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), gateway, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		for _, l := range g.Status.Listeners {
			if string(l.Name) == listener {
				return statusText(l), has(l.Conditions, g.Generation, conditions...)
			}
		}
		return statusText(g.Status), false
	})
}

// liveCount counts the routes that begin with a prefix and whose proxies have acknowledged them as they are.
func (s *stage) liveCount(prefix string) (n int) {
	s.Helper()
	list, err := s.api.GatewayV1().HTTPRoutes(s.namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range list.Items {
		if strings.HasPrefix(r.Name, prefix) && len(r.Status.Parents) == 1 &&
			has(r.Status.Parents[0].Conditions, r.Generation, "Accepted=True", programmed+"=True") {
			n++
		}
	}
	return n
}

// attached waits until a Gateway's first listener says that it has so many routes.
func (s *stage) attached(gateway string, routes int32) {
	s.Helper()
	s.until(fmt.Sprintf("Gateway %s has %d routes", gateway, routes), func() (string, bool) {
		g, err := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), gateway, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		return statusText(g.Status), len(g.Status.Listeners) > 0 && g.Status.Listeners[0].AttachedRoutes == routes
	})
}

// has says whether conditions are there, of that generation: TYPE=STATUS, also with the REASON, also with ": " and
// words of the message.
func has(list []metav1.Condition, generation int64, conditions ...string) bool {
	for _, want := range conditions {
		want, words, _ := strings.Cut(want, ": ")
		state, reason, _ := strings.Cut(want, " ")
		kind, status, _ := strings.Cut(state, "=")
		c := meta.FindStatusCondition(list, kind)
		if c == nil || string(c.Status) != status || c.ObservedGeneration != generation || reason != "" &&
			c.Reason != reason ||
			!strings.Contains(c.Message, words) {
			return false
		}
	}
	return true
}
