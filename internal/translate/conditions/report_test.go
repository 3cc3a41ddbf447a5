package conditions

import (
	"os"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestReport: what a GatewayClassStatus claims is what the suite's report shows to pass, no more and no less.
func TestReport(t *testing.T) {
	text, err := os.ReadFile("../../../docs/conformance/report.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Result            string
		Statistics        struct{ Passed, Failed, Skipped int }
		SupportedFeatures []string
	}
	var report struct {
		Profiles []struct {
			Name           string
			Core, Extended part
		}
	}
	if err := yaml.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	// Core features are not listed, and the extended ones of GRPCRoute stand in no profile, though the suite tests them.
	reported := []string{"Gateway", "GRPCRoute", "GRPCRouteNamedRouteRule", "GRPCRouteRequestHeaderModifier", "HTTPRoute",
		"ReferenceGrant", "TLSRoute"}
	for _, p := range report.Profiles {
		for _, part := range []part{p.Core, p.Extended} {
			if s := part.Statistics; part.Result != "success" || s.Passed == 0 || s.Failed+s.Skipped > 0 {
				t.Errorf("%s: %+v", p.Name, part)
			}
		}
		reported = append(reported, p.Extended.SupportedFeatures...)
	}
	var claimed []string
	for _, f := range supportedFeatures(true) {
		claimed = append(claimed, string(f.Name))
	}
	slices.Sort(reported)
	if !slices.Equal(claimed, slices.Compact(reported)) {
		t.Errorf("claimed are %q, the report has %q: run `make conformance`", claimed, reported)
	}
}
