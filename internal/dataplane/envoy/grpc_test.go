package envoy

import (
	"fmt"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// TestGRPCFailures: wherever a GRPCRoute answers in place of a backend it is 503, which gRPC clients are told as
// UNAVAILABLE; of an HTTPRoute it is 500. So it is for references that don't resolve, for a share of them, and in place
// of what a proxy refused.
func TestGRPCFailures(t *testing.T) {
	invalid := model.WeightedBackend{Backend: service("missing"), Weight: 1, Invalid: true}
	filtered := model.WeightedBackend{Backend: service("a"), Weight: 1, Filters: &model.Filters{
		RequestHeaders: &model.HeaderModifier{Remove: []string{"x"}},
	}}
	for name, backends := range map[string][]model.WeightedBackend{
		"none": nil, "invalid": {invalid}, "no weight": {{Backend: service("a")}}, "a share": append(to("a"), invalid),
		"a share beside filters": {filtered, invalid},
	} {
		for kind, want := range map[model.Kind]uint32{model.KindGRPCRoute: 503, model.KindHTTPRoute: 500} {
			r := model.Rule{Key: model.RuleKey{Route: model.Ref(kind, "shop", "r"), Name: "rule"}, Matches: []model.Match{{}},
				Backends: backends}
			for _, rendered := range [][]byte{renderRule(route.Rule{Rule: r}, route.ListenerContext{}).Routes[0],
				substituteRoutes(r)[0]} {
				if got := failures(t, rendered); len(got) != 1 || got[0] != want {
					t.Errorf("%s of an %s: fails with %v, want %d", name, kind, got, want)
				}
			}
		}
	}
}

// failures are the statuses that routes answer by themselves, or for a cluster that is missing.
func failures(t *testing.T, b []byte) (list []uint32) {
	t.Helper()
	host := new(routev3.VirtualHost)
	if err := proto.Unmarshal(b, host); err != nil {
		t.Fatal(err)
	}
	codes := map[routev3.RouteAction_ClusterNotFoundResponseCode]uint32{
		routev3.RouteAction_SERVICE_UNAVAILABLE: 503, routev3.RouteAction_INTERNAL_SERVER_ERROR: 500,
	}
	for _, r := range host.GetRoutes() {
		switch {
		case r.GetDirectResponse() != nil:
			list = append(list, r.GetDirectResponse().GetStatus())
		case r.GetRoute().GetWeightedClusters() != nil:
			list = append(list, codes[r.GetRoute().GetClusterNotFoundResponseCode()])
		}
	}
	return list
}

// TestGRPCPath: what a match of a gRPC method compares paths with.
func TestGRPCPath(t *testing.T) {
	for m, want := range map[model.GRPCMatch]string{
		{}:                                       "PathPrefix /",
		{Service: "a.S", Method: "M"}:            "Exact /a.S/M",
		{Service: "a.S"}:                         "PathPrefix /a.S",
		{Method: "M"}:                            "RegularExpression /[^/]+/M",
		{Service: "a|b", Regex: true}:            "RegularExpression /(?:a|b)/[^/]+",
		{Service: "a", Method: "b", Regex: true}: "RegularExpression /(?:a)/(?:b)",
		{Service: `\Qa|`, Method: `\Q`, Regex: true}:        `RegularExpression /(?:\Qa|\E)/(?:\Q\E)`,
		{Service: `\\Qa`, Method: `\Qb\E\Qc\`, Regex: true}: `RegularExpression /(?:\\Qa)/(?:\Qb\E\Qc\\E)`,
	} {
		path := route.GRPCPath(m)
		if got := fmt.Sprintf("%s %s", path.Type, path.Value); got != want {
			t.Errorf("%+v: %s, want %s", m, got, want)
		}
	}
}
