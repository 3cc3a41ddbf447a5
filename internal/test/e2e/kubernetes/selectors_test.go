package kubernetes

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/test/kubetest"
)

// TestSelectors follows an XBackend that selects pods, from the first request to its end: pods come and go, selector
// and port are edited, others edit and delete what Cardea made for it, and it goes when no route names the XBackend, or
// there is none any more.
func TestSelectors(t *testing.T) {
	const host = "pods.example"
	s := newStage(t)
	ctx := context.Background()
	core, deployments := s.Client.CoreV1(), s.Client.AppsV1().Deployments(s.namespace)
	s.apply(pods(s.namespace, "blue", "front", 3000) + pods(s.namespace, "green", "front", 3000) +
		pods(s.namespace, "red", "back", 3005) +
		gateway(s.namespace, "edge") + selector(s.namespace, "app", 3000, "{app: blue}"))
	s.ready(s.namespace, "app", 3)
	address := s.address("edge")
	s.selectors(0)
	s.step("nobody names it")

	s.apply(xroute(s.namespace, "pods", "edge", host, "app"))
	s.gets(address, host, "/", by("blue"))
	first := s.selectors(1)[0]
	if !strings.HasPrefix(first.Name, "xbackend-app-") || first.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("the Service is %s: %+v", first.Name, first.Spec)
	}
	for _, name := range []string{"app", "xbackend-app", "app-backend"} {
		if first.Name == name {
			t.Errorf("a name that can be foretold: %s", name)
		}
	}
	s.accepted("app")
	s.step("%s finds the pods", first.Name)

	calls := s.traffic(50, address, by("blue", "green"), host)
	patch := func(text string) {
		t.Helper()
		if _, err := s.api.ExperimentalV1alpha1().XBackends(s.namespace).
			Patch(ctx, "app", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch(`{"spec": {"endpointSelector": {"matchLabels": {"app": "green"}}}}`)
	s.gets(address, host, "/", by("green"))
	s.step("it selects others")
	patch(`{"spec": {"endpointSelector": {"matchLabels": {"app": null, "tier": "front"}}}}`)
	both := map[string]bool{}
	s.gets(address, host, "/", func(a answer) bool {
		if by("blue", "green")(a) {
			both[a.Pod] = true
		}
		return len(both) == 2
	})
	s.step("pods of both Deployments")
	calls.moves(50)
	if now := s.selectors(1)[0]; now.UID != first.UID {
		t.Errorf("an edit has made another Service: %s", now.Name)
	}
	calls.flawless()

	patch(`{"spec": {"port": {"number": 3005}, "endpointSelector": {"matchLabels": {"tier": null, "app": "red"}}}}`)
	s.gets(address, host, "/", by("red"))
	s.step("another port")
	patch(`{"spec": {"port": {"number": 3000}}}`)
	s.gets(address, host, "/", func(a answer) bool { return a.Status == http.StatusServiceUnavailable })
	patch(`{"spec": {"port": {"number": 3005}}}`)
	s.gets(address, host, "/", by("red"))
	s.step("a port that nobody has, and back")

	scale := func(n int) {
		t.Helper()
		text := fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, n)
		if _, err := deployments.Patch(ctx, "red", types.MergePatchType, text, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		s.ready(s.namespace, "app=red", n)
	}
	scale(2)
	seen := map[string]bool{}
	s.gets(address, host, "/", func(a answer) bool { seen[a.Pod] = true; return len(seen) == 2 })
	scale(0)
	s.gets(address, host, "/", func(a answer) bool { return a.Status == http.StatusServiceUnavailable })
	scale(1)
	s.gets(address, host, "/", by("red"))
	s.step("pods come and go")

	services := core.Services(s.namespace)
	astray := []byte(`{"spec": {"selector": {"app": "blue"}}}`)
	if _, err := services.Patch(ctx, first.Name, types.MergePatchType, astray, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("the selector is repaired", func() (string, bool) {
		now := s.selectors(1)[0]
		return statusText(now), now.Spec.Selector["app"] == "red"
	})
	s.gets(address, host, "/", by("red"))
	s.step("others edit it")
	if err := services.Delete(ctx, first.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("it is made again", func() (string, bool) {
		now := s.selectors(1)[0]
		return statusText(now), now.UID != first.UID && now.Name != first.Name && now.Spec.Selector["app"] == "red"
	})
	s.gets(address, host, "/", by("red"))
	s.step("others delete it")

	if err := s.api.GatewayV1().HTTPRoutes(s.namespace).Delete(ctx, "pods", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.selectors(0)
	s.step("no route names it")
	s.apply(xroute(s.namespace, "pods", "edge", host, "app"))
	s.gets(address, host, "/", by("red"))
	if err := s.api.ExperimentalV1alpha1().XBackends(s.namespace).Delete(ctx, "app", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.selectors(0)
	s.gets(address, host, "/", func(a answer) bool { return a.Status == http.StatusInternalServerError })
	s.step("it is gone")
}

// TestSelectedSessions: the pods that an XBackend selects keep their clients.
func TestSelectedSessions(t *testing.T) {
	const host = "sessions.example"
	s := newStage(t)
	s.apply(echo(s.namespace, "blue", 2) + gateway(s.namespace, "edge") +
		xroute(s.namespace, "pods", "edge", host, "app") +
		strings.TrimSuffix(selector(s.namespace, "app", 3000, "{app: blue}"), "}\n") +
		", sessionPersistence: {type: Header, header: {name: x-session}}}\n")
	s.ready(s.namespace, "app", 2)
	address := s.address("edge")
	seen := map[string]bool{}
	s.gets(address, host, "/", func(a answer) bool { seen[a.Pod] = true; return by("blue")(a) && len(seen) == 2 })

	request, err := http.NewRequest(http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	session := response.Header.Get("x-session")
	if at, err := base64.StdEncoding.DecodeString(session); err != nil || !strings.HasSuffix(string(at), ":3000") {
		t.Fatalf("the session is %q: %q, %v", session, at, err)
	}
	at := map[string]int{}
	for range 20 {
		a, err := s.get(address, host, "/", "x-session", session)
		if err != nil {
			t.Fatal(err)
		}
		at[a.Pod]++
	}
	if len(at) != 1 {
		t.Errorf("with a session: %v", at)
	}
}

// selectors waits until there are so many Services that find the pods of XBackends, and returns them.
func (s *stage) selectors(n int) (found []corev1.Service) {
	s.Helper()
	s.until(fmt.Sprintf("%d Services for XBackends", n), func() (string, bool) {
		list, err := s.Client.CoreV1().Services(s.namespace).List(context.Background(),
			metav1.ListOptions{LabelSelector: "cardea.dev/xbackend"})
		if err != nil {
			return err.Error(), false
		}
		found = list.Items
		return statusText(found), len(found) == n
	})
	return found
}

// accepted waits until an XBackend is, at one Gateway.
func (s *stage) accepted(name string) {
	s.Helper()
	s.until("XBackend "+name+" is accepted", func() (string, bool) {
		b, err := s.api.ExperimentalV1alpha1().XBackends(s.namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		ok := len(b.Status.Ancestors) == 1
		for _, a := range b.Status.Ancestors {
			ok = ok && meta.IsStatusConditionTrue(a.Conditions, "Accepted") &&
				meta.IsStatusConditionTrue(a.Conditions, "ResolvedRefs")
		}
		return statusText(b.Status), ok
	})
}

// pods states a Deployment of an echo server at a port, without a Service.
func pods(namespace, name, tier string, port int) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s, tier: %[5]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: echo
        image: %[3]s
        env:
        - {name: HTTP_PORT, value: "%[4]d"}
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
`, namespace, name, kubetest.EchoImage, port, tier)
}

// selector states an XBackend that selects pods by labels.
func selector(namespace, name string, port int, labels string) string {
	return fmt.Sprintf(`---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: %s, namespace: %s}
spec: {type: EndpointSelector, port: {number: %d}, endpointSelector: {matchLabels: %s}}
`, name, namespace, port, labels)
}
