package kubernetes

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestHostnamesOfTheCluster: an XBackend can't reach by a name what only a ReferenceGrant would let it reach: the names
// of the cluster and of the proxy's machine are refused, and no search domain makes others of them. What else the
// Gateway serves is not disturbed.
func TestHostnamesOfTheCluster(t *testing.T) {
	s, victim := newStage(t), newStage(t)
	address := s.shop("edge")
	victim.apply(echo(victim.namespace, "green", 1))
	calls := s.traffic(100, address, by("blue"), "shop.example")
	refused := map[string]string{
		"service": "green." + victim.namespace + ".svc",
		"long":    "green." + victim.namespace + ".svc.cluster.local",
		"local":   "localhost",
		"short":   "green",
	}
	for name, host := range refused {
		text := xbackendAt(s.namespace, name, host) + xroute(s.namespace, name, "edge", name+".example", name)
		if name == "long" { // newer CRDs refuse it by themselves
			if err := s.Apply(s.Context(), []byte(text)); err != nil {
				delete(refused, name)
			}
			continue
		}
		s.apply(text)
	}
	s.apply(xbackendAt(s.namespace, "searched", "green."+victim.namespace) +
		xroute(s.namespace, "searched", "edge", "searched.example", "searched"))
	s.apply(xbackendAt(s.namespace, "far", "green."+victim.namespace+".outside.test") +
		xroute(s.namespace, "far", "edge", "far.example", "far"))
	s.gets(address, "far.example", "/", by("green"))
	for name := range refused {
		s.gets(address, name+".example", "/", func(a answer) bool { return a.Status == http.StatusInternalServerError })
		s.until("XBackend "+name+" says why", func() (string, bool) {
			said := s.ancestor(name)
			return fmt.Sprint(said), said["Accepted"] == "False UnsupportedValue"
		})
	}
	s.gets(address, "searched.example", "/", func(a answer) bool { return a.Status == http.StatusServiceUnavailable })
	calls.flawless()
}

// ancestor is what the status of an XBackend says of its first Gateway, by type of condition: "False UnsupportedValue".
func (s *stage) ancestor(name string) map[string]string {
	s.Helper()
	o := &unstructured.Unstructured{}
	text, err := s.Client.RESTClient().Get().AbsPath("/apis/gateway.networking.x-k8s.io/v1alpha1/namespaces/" +
		s.namespace + "/xbackends/" + name).Do(s.Context()).Raw()
	if err == nil {
		err = o.UnmarshalJSON(text)
	}
	if err != nil {
		s.Fatal(err)
	}
	said := map[string]string{}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "ancestors")
	for _, entry := range list[:min(len(list), 1)] {
		conditions, _, _ := unstructured.NestedSlice(entry.(map[string]any), "conditions")
		for _, c := range conditions {
			c := c.(map[string]any)
			said[fmt.Sprint(c["type"])] = fmt.Sprint(c["status"], " ", c["reason"])
		}
	}
	return said
}
