package conditions

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// TestCRDsInstalled: the class of a cluster names each definition that is absent or older, with what is there, what is
// read and the command; a folder has none.
func TestCRDsInstalled(t *testing.T) {
	pool := model.Definition{
		Name: "inferencepools.inference.networking.k8s.io", Origin: model.ThirdPartyOrigin, Reads: "v1", Serves: "v1",
	}
	absent, older, lacking := pool, pool, pool
	absent.Absent, absent.Serves = true, ""
	older.Serves, older.NotServed = "v1alpha1, v1alpha2", true
	lacking.Lacks = "spec.appProtocol"
	own := model.Definition{Name: "securitypolicies.cardea.dev", Reads: "v1alpha1", Absent: true}
	oldOwn := own
	oldOwn.Absent, oldOwn.Serves, oldOwn.Lacks = false, "v1alpha1", "spec.jwt"
	routes := model.Definition{Name: "httproutes.gateway.networking.k8s.io", Origin: model.GatewayAPIOrigin, Absent: true}
	for name, c := range map[string]struct {
		definitions []model.Definition
		is          string
		says        []string
	}{
		"all": {nil, "True Installed", []string{"all CustomResourceDefinitions that Cardea reads are installed"}},
		"absent": {[]model.Definition{absent}, "False NotInstalled",
			[]string{"not installed: " + pool.Name + " (kubectl create -f deploy/third-party-crds.yaml); all else is served"}},
		"older version": {[]model.Definition{older}, "False Outdated",
			[]string{pool.Name + " serves v1alpha1, v1alpha2, but Cardea reads v1 (update it with the project that " +
				"installed it"}},
		"a field less": {[]model.Definition{lacking}, "False Outdated",
			[]string{pool.Name + " has no spec.appProtocol (update"}},
		"several": {[]model.Definition{own, lacking, routes}, "False Outdated", []string{
			"has no spec.appProtocol", "not installed: securitypolicies.cardea.dev (apply deploy/install.yaml",
			"not installed: httproutes.gateway.networking.k8s.io (kubectl apply --server-side",
		}},
		"Cardea's own is older": {[]model.Definition{oldOwn}, "False Outdated",
			[]string{"securitypolicies.cardea.dev has no spec.jwt (apply deploy/install.yaml of this version"}},
	} {
		status := GatewayClassStatus(GatewayClassFacts{InCluster: true, Definitions: c.definitions})
		condition := status.Conditions[len(status.Conditions)-1]
		if got := string(condition.Status) + " " + condition.Reason; condition.Type != CRDsInstalled || got != c.is {
			t.Errorf("%s: %s=%s, want %s", name, condition.Type, got, c.is)
		}
		for _, want := range c.says {
			if !strings.Contains(condition.Message, want) {
				t.Errorf("%s: %q, want %q", name, condition.Message, want)
			}
		}
	}
	status := GatewayClassStatus(GatewayClassFacts{Definitions: []model.Definition{absent}})
	if len(status.Conditions) != 2 {
		t.Errorf("without a cluster: %+v", status.Conditions)
	}
}
