package kube

import (
	"context"
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/policycrd"
)

// TestPolicies: a kind that is made of its features is read once its definition is installed.
func TestPolicies(t *testing.T) {
	list, err := policycrd.New(
		[]extend.Kind{{Group: "policy.example.com", Version: "v1", Name: "ReadPolicy", Plural: "readpolicies",
			Features: extend.AtRule}},
		[]*extend.UntypedFeature{{Kind: "ReadPolicy.policy.example.com", Name: "timeouts", Schema: []byte(
			`{"type": "object", "properties": {"request": {"type": "string"}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	k := list[0].Declaration
	p := newPlace(t)
	r := p.readKinds(kinds.NewCatalog(k))
	source := input.SourceOf[input.PolicySpec](r.sources.Sources, k.Kind)
	if err := p.Apply(context.Background(), list[0].CRD); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.uninstall("readpolicies.policy.example.com") })
	p.apply("apiVersion: policy.example.com/v1\nkind: ReadPolicy\nmetadata: {name: a, namespace: %s}\nspec:\n" +
		"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]\n  timeouts: {request: 5s}\n")
	o := await(r, source, p.ref(k.Kind, "a"), anyway)
	if f, stated := o.Spec.FindFeature("timeouts"); !stated || f.JSON != `{"request":"5s"}` ||
		len(o.Spec.TargetRefs) != 1 {
		t.Errorf("the policy is read as %+v", o.Spec)
	}
}
