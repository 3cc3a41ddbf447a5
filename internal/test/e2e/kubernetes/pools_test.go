package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var poolResource = schema.GroupVersionResource{
	Group: "inference.networking.k8s.io", Version: "v1", Resource: "inferencepools",
}

// TestPools follows an InferencePool that two Gateways share: all ports of its pods that are ready get requests, its
// status has an entry for each Gateway as long as a route leads there, and when it is deleted routes say so, until it
// is back.
func TestPools(t *testing.T) {
	const host = "models.example"
	s := newStage(t)
	ctx := context.Background()
	client, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	pools := client.Resource(poolResource).Namespace(s.namespace)
	s.apply(modelServers(s.namespace, "models", 1, 3000, 3005) + twoPorts(s.namespace, "models") +
		gateway(s.namespace, "one") + gateway(s.namespace, "two"))
	s.ready(s.namespace, "app=models", 1)
	one, two := s.address("one"), s.address("two")
	s.poolParents(pools, "models", "")
	s.step("nobody names it")

	s.apply(poolRoute(s.namespace, "first", "one", host, "models"))
	s.bothPorts(one, host)
	s.poolParents(pools, "models", "one Accepted=True ResolvedRefs=True")
	s.step("each port of each pod")
	s.apply(poolRoute(s.namespace, "second", "two", host, "models"))
	s.bothPorts(two, host)
	s.poolParents(pools, "models", "one Accepted=True ResolvedRefs=True, two Accepted=True ResolvedRefs=True")
	s.step("two Gateways share it")

	scale := func(n int) {
		t.Helper()
		text := fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, n)
		if _, err := s.Client.AppsV1().Deployments(s.namespace).Patch(ctx, "models", types.MergePatchType, text,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	scale(0)
	unavailable := func(a answer) bool { return a.Status == http.StatusServiceUnavailable }
	s.gets(one, host, "/", unavailable)
	scale(1)
	s.bothPorts(one, host)
	s.step("pods come and go")

	patch := func(text string) {
		t.Helper()
		if _, err := pools.Patch(ctx, "models", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch(`{"spec": {"endpointPickerRef": {"name": "gone", "port": {"number": 9002}}}}`)
	s.gets(one, host, "/", unavailable)
	s.poolParents(pools, "models", "one Accepted=True ResolvedRefs=False, two Accepted=True ResolvedRefs=False")
	patch(`{"spec": {"endpointPickerRef": {"failureMode": "FailOpen"}}}`)
	s.bothPorts(one, host)
	patch(`{"spec": {"endpointPickerRef": null}}`)
	s.poolParents(pools, "models", "one Accepted=True ResolvedRefs=True, two Accepted=True ResolvedRefs=True")
	s.step("a picker that is not there")

	routes := s.api.GatewayV1().HTTPRoutes(s.namespace)
	if err := routes.Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.poolParents(pools, "models", "two Accepted=True ResolvedRefs=True")
	s.gets(one, host, "/", func(a answer) bool { return a.Status == http.StatusNotFound })
	s.step("a route is gone")

	if err := pools.Delete(ctx, "models", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.gets(two, host, "/", func(a answer) bool { return a.Status == http.StatusInternalServerError })
	s.until("the route says that it is gone", func() (string, bool) {
		r, err := routes.Get(ctx, "second", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		for _, p := range r.Status.Parents {
			c := meta.FindStatusCondition(p.Conditions, "ResolvedRefs")
			return statusText(r.Status), c != nil && c.Status == metav1.ConditionFalse && c.Reason == "BackendNotFound"
		}
		return statusText(r.Status), false
	})
	s.apply(twoPorts(s.namespace, "models"))
	s.bothPorts(two, host)
	s.poolParents(pools, "models", "two Accepted=True ResolvedRefs=True")
	s.step("it is back")
	if err := routes.Delete(ctx, "second", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.poolParents(pools, "models", "")
}

// bothPorts waits until both ports of the pods have answered.
func (s *stage) bothPorts(address, host string) {
	s.Helper()
	seen := map[string]bool{}
	s.gets(address, host, "/", func(a answer) bool {
		if a.Status == http.StatusOK {
			seen[a.HTTPPort] = true
		}
		return len(seen) == 2
	})
}

// poolParents waits until the status of a pool has these entries: "GATEWAY Accepted=True ResolvedRefs=True, ...".
func (s *stage) poolParents(pools dynamic.ResourceInterface, name, want string) {
	s.Helper()
	s.until(fmt.Sprintf("InferencePool %s has the parents %q", name, want), func() (string, bool) {
		o, err := pools.Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		parents, _, _ := unstructured.NestedSlice(o.Object, "status", "parents")
		var all []string
		for _, p := range parents {
			parent := p.(map[string]any)
			gateway, _, _ := unstructured.NestedString(parent, "parentRef", "name")
			conditions, _, _ := unstructured.NestedSlice(parent, "conditions")
			words := gateway
			for _, c := range conditions {
				condition := c.(map[string]any)
				words += fmt.Sprintf(" %s=%s", condition["type"], condition["status"])
			}
			all = append(all, words)
		}
		got := strings.Join(all, ", ")
		return got, got == want
	})
}

// twoPorts states an InferencePool with the ports 3000 and 3005.
func twoPorts(namespace, name string) string {
	return inferencePool(namespace, name, name, []int{3000, 3005}, "")
}

// poolRoute states an HTTPRoute that sends a host's requests to a pool.
func poolRoute(namespace, name, gateway, host, pool string) string {
	return strings.Replace(xroute(namespace, name, gateway, host, pool),
		"group: gateway.networking.x-k8s.io, kind: XBackend", "group: inference.networking.k8s.io, kind: InferencePool", 1)
}
