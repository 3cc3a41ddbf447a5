package conditions

import (
	"slices"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"
)

func TestGatewayClass(t *testing.T) {
	for _, c := range []struct {
		apis []string
		want string
	}{
		{nil, "Accepted=True Accepted, SupportedVersion=True SupportedVersion"},
		{[]string{"v1.7.0"}, "Accepted=True Accepted, SupportedVersion=True SupportedVersion"},
		{[]string{"v1.7.3", "v1.2.0"}, "Accepted=True Accepted, SupportedVersion=False UnsupportedVersion"},
		{[]string{"v1.70.0"}, "Accepted=True Accepted, SupportedVersion=False UnsupportedVersion"},
	} {
		if got := brief(GatewayClassStatus(GatewayClassFacts{APIs: c.apis}).Conditions); got != c.want {
			t.Errorf("%v: %s, want %s", c.apis, got, c.want)
		}
	}
}

// TestClassThatIsKept: a class that can't go says how many Gateways keep it.
func TestClassThatIsKept(t *testing.T) {
	const want = "the class is served by this controller; it is being deleted, and waits for 2 Gateways"
	if got := GatewayClassStatus(GatewayClassFacts{WaitingGateways: 2}).Conditions[0].Message; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSupportedFeatures: what is claimed is known to the GatewayStatus API, sorted, and deployment is claimed only
// where there is one.
func TestSupportedFeatures(t *testing.T) {
	known := map[gatewayv1.FeatureName]bool{}
	for f := range features.AllFeatures {
		known[gatewayv1.FeatureName(f.Name)] = true
	}
	here, inCluster := supportedFeatures(false), supportedFeatures(true)
	if len(inCluster) != len(here)+len(clusterFeatures) {
		t.Errorf("%d features here, %d in a cluster", len(here), len(inCluster))
	}
	var names []string
	for _, f := range inCluster {
		names = append(names, string(f.Name))
		if !known[f.Name] {
			t.Errorf("%s is no feature of the Gateway API", f.Name)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not sorted, or twice: %q", names)
	}
}
