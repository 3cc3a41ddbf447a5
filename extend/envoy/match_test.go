package envoy

import (
	"testing"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"

	"cardea.dev/cardea/extend"
)

// TestRenderedMatchesAreValid: what Validate takes, Envoy's own rules take.
func TestRenderedMatchesAreValid(t *testing.T) {
	m := extend.RequestMatch{RequestParts: extend.RequestParts{
		Hosts: []string{"*.a.test"}, Methods: []string{"GET"}, ClientCIDRs: []string{"::/0"}, Users: []string{"a"},
		Paths: []extend.PathMatch{
			{Type: extend.PathPrefix, Value: "/"}, {Type: extend.PathRegularExpression, Value: ".*"},
		},
		Query:        []extend.NamedMatch{{Name: "a b", Type: extend.Present}},
		Claims:       []extend.ClaimMatch{{Claim: "a", Type: extend.Exact, Values: []string{"1"}}},
		Certificates: []extend.CertificateMatch{{Subject: "CN=a", Type: extend.Exact}, {DNS: "a", Type: extend.Prefix}},
		CEL:          "true",
	}}
	for _, providers := range [][]string{nil, {"corp"}, {"corp", "other"}} {
		for _, p := range append(MismatchPolicies(m, providers...), MatchPolicy(m, providers...)) {
			if err := p.ValidateAll(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestInvalidExpression: whoever renders what Validate refused allows nothing by it, and lets nothing pass.
func TestInvalidExpression(t *testing.T) {
	m := extend.RequestMatch{RequestParts: extend.RequestParts{CEL: "(("}}
	for _, p := range []*rbacv3.Policy{MatchPolicy(m), MismatchPolicies(m)[1]} {
		if c := p.GetCondition().GetConstExpr(); c == nil || c.GetBoolValue() {
			t.Errorf("the condition is %v", p.GetCondition())
		}
	}
}
