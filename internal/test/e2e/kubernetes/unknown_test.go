package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// TestUnknownFieldOfAMatch: the cluster's CRDs are newer, and a match has a field that Cardea does not know. The match
// answers 500 on what is known of it, or takes nothing if that is nothing; its status says so, the other matches of its
// rule and the other rules serve.
func TestUnknownFieldOfAMatch(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	calls := s.traffic(100, address, by("blue"), "shop.example")
	s.extendMatches("language")
	text := fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: new, namespace: %s}
spec:
  parentRefs: [{name: edge}]
  hostnames: [new.example]
  rules:
  - matches: [{path: {value: /known}}, {path: {value: /new}, language: de}]
    backendRefs: [{name: green, port: 80}]
  - matches: [{language: fr}]
    backendRefs: [{name: green, port: 80}]
  - backendRefs: [{name: blue, port: 80}]
`, s.namespace)
	s.until("the field is kept", func() (string, bool) {
		if err := s.Apply(context.Background(), []byte(text)); err != nil {
			return err.Error(), false // the API server makes the new schema its own a little later
		}
		kept, err := s.Client.RESTClient().Get().AbsPath("/apis/gateway.networking.k8s.io/v1/namespaces/" + s.namespace +
			"/httproutes/new").Do(context.Background()).Raw()
		if strings.Contains(string(kept), `"language":"fr"`) {
			return "", true
		}
		_ = s.Client.RESTClient().Delete().AbsPath("/apis/gateway.networking.k8s.io/v1/namespaces/" + s.namespace +
			"/httproutes/new").Do(context.Background()).Error()
		return fmt.Sprintf("%s, %v", kept, err), false
	})
	failed := func(a answer) bool { return a.Status == http.StatusInternalServerError }
	s.gets(address, "new.example", "/new", failed)
	s.gets(address, "new.example", "/new/below", failed)
	s.gets(address, "new.example", "/known", by("green"))
	s.gets(address, "new.example", "/", by("blue"))
	s.gets(address, "new.example", "/else", by("blue"))
	s.routeIs("new", "Accepted=True Accepted", "PartiallyInvalid=True UnsupportedValue")
	route, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Get(t.Context(), "new", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"does not know (language): requests that",
		"does not know (language): the match states nothing else"} {
		if !strings.Contains(statusText(route.Status), want) {
			t.Errorf("%s\nwant %s", statusText(route.Status), want)
		}
	}
	calls.flawless()
}

// TestUnknownFieldOfAPolicy: the cluster's CRDs are newer, and a policy that protects states what Cardea does not know.
// What it is for is closed, and open again when the policy is one that Cardea knows. A field that is near to one that
// protects nothing closes nothing; one that is near to none may be a limit.
func TestUnknownFieldOfAPolicy(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	s.extend("securitypolicies.cardea.dev", nil, "newer")
	s.extend("trafficpolicies.cardea.dev", nil, "newer")
	s.extend("trafficpolicies.cardea.dev", nil, "retries")
	policy := func(kind, route, spec string) string {
		return fmt.Sprintf("---\napiVersion: cardea.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: %s}\nspec:\n"+
			"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %[2]s}]\n  %[4]s\n",
			kind, route, s.namespace, spec)
	}
	text := ""
	for _, name := range []string{"guarded", "limited", "paced"} {
		text += fmt.Sprintf("---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n"+
			"metadata: {name: %s, namespace: %s}\nspec:\n  parentRefs: [{name: edge}]\n  hostnames: [%[1]s.example]\n"+
			"  rules: [{backendRefs: [{name: green, port: 80}]}]\n", name, s.namespace)
	}
	s.until("the fields are kept", func() (string, bool) {
		err := s.Apply(context.Background(), []byte(text+policy("SecurityPolicy", "guarded", "newer: all")+
			policy("TrafficPolicy", "limited", "newer: all")+policy("TrafficPolicy", "paced", "retries: all")))
		if err != nil {
			return err.Error(), false
		}
		for path, want := range map[string]string{"securitypolicies/guarded": "newer", "trafficpolicies/limited": "newer",
			"trafficpolicies/paced": "retries"} {
			path = "/apis/cardea.dev/v1alpha1/namespaces/" + s.namespace + "/" + path
			kept, err := s.Client.RESTClient().Get().AbsPath(path).Do(context.Background()).Raw()
			if !strings.Contains(string(kept), fmt.Sprintf("%q:%q", want, "all")) {
				_ = s.Client.RESTClient().Delete().AbsPath(path).Do(context.Background()).Error()
				return fmt.Sprintf("%s, %v", kept, err), false
			}
		}
		return "", true
	})
	failed := func(a answer) bool { return a.Status == http.StatusInternalServerError }
	s.gets(address, "guarded.example", "/", failed)
	s.gets(address, "limited.example", "/", failed)
	s.gets(address, "paced.example", "/", by("green"))
	known := policy("SecurityPolicy", "guarded", `cors: {allowOrigins: ["*"]}`)
	if err := s.Apply(context.Background(), []byte(known)); err != nil {
		t.Fatal(err)
	}
	s.gets(address, "guarded.example", "/", by("green"))
}

// extendMatches adds a field to the matches of HTTPRoutes, in all versions of their CRD, until the test ends.
func (s *stage) extendMatches(field string) {
	s.Helper()
	s.extend("httproutes.gateway.networking.k8s.io",
		[]string{"rules", "items", "properties", "matches", "items", "properties"}, field)
}

// extend adds a field to the spec of a CRD, or to what stands at a path below, in all versions until the test ends.
func (s *stage) extend(name string, below []string, field string) {
	s.Helper()
	client, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		s.Fatal(err)
	}
	put := func(change func(versions []any) any) {
		s.Helper()
		s.until("the CRD is another one", func() (string, bool) {
			crd, err := client.Resource(definitions).Get(context.Background(), name, metav1.GetOptions{})
			if err == nil {
				versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
				spec := crd.Object["spec"].(map[string]any)
				spec["versions"] = change(versions)
				_, err = client.Resource(definitions).Update(context.Background(), crd, metav1.UpdateOptions{})
			}
			return fmt.Sprint(err), err == nil
		})
	}
	var before []byte
	put(func(versions []any) any {
		before, _ = json.Marshal(versions)
		for _, v := range versions {
			path := append(append([]string{"schema", "openAPIV3Schema", "properties", "spec", "properties"}, below...), field)
			if err := unstructured.SetNestedMap(v.(map[string]any), map[string]any{"type": "string"}, path...); err != nil {
				s.Fatal(err)
			}
		}
		return versions
	})
	s.Cleanup(func() {
		put(func([]any) (versions any) {
			_ = json.Unmarshal(before, &versions)
			return versions
		})
	})
}
