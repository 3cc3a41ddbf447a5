package deploy

import (
	"os"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/deliver/kube/proxies"
)

// TestControllerEgress: the controller's NetworkPolicy excepts what those of proxies do, and nothing that it needs.
func TestControllerEgress(t *testing.T) {
	text, err := os.ReadFile("install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var policy networkingv1.NetworkPolicy
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.Contains(doc, "\nkind: NetworkPolicy\n") {
			if err := yaml.UnmarshalStrict([]byte(doc), &policy); err != nil {
				t.Fatal(err)
			}
		}
	}
	var except []string
	for _, to := range policy.Spec.Egress[0].To {
		if to.IPBlock != nil {
			except = append(except, to.IPBlock.Except...)
		}
	}
	want := proxies.DefaultEgressExcept()
	slices.Sort(except)
	slices.Sort(want)
	if !slices.Equal(except, want) || policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"] != "cardea" {
		t.Errorf("%v is excepted for %v, want %v", except, policy.Spec.PodSelector, want)
	}
}
