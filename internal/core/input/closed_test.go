package input

import (
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// What is closed is told by the object that can't be read, as far as that is known, and where it is.
func TestDescribeClosedObject(t *testing.T) {
	for want, c := range map[string]ClosedTargets{
		"SecurityPolicy default/sp (pol.yaml:5)": {Object: model.Ref(model.KindSecurityPolicy, "default", "sp")},
		"ClientPolicy default/sp (pol.yaml:5)":   {Object: model.Ref(model.KindClientPolicy, "default", "sp")},
		"ClientPolicy sp (pol.yaml:5)":           {Object: model.Ref(model.KindClientPolicy, "", "sp")},
		"a SecurityPolicy without a name (pol.yaml:5)": {
			Object: model.Ref(model.KindSecurityPolicy, "default", "")},
		"an AuthPolicy without a name (pol.yaml:5)": {
			Object: model.Ref(model.KindOf("cardea.dev", "AuthPolicy"), "default", "")},
		"object default/sp (pol.yaml:5)":                   {Object: model.Ref(model.KindNone, "default", "sp")},
		"an object without a kind and a name (pol.yaml:5)": {Object: model.Ref(model.KindNone, "default", "")},
		"file my (new) pol.yaml": {Object: model.Ref(model.KindNone, "", "my (new) pol.yaml"),
			Where: "my (new) pol.yaml"},
		"ClientPolicy default/sp (my (new) pol.yaml:5)": {Object: model.Ref(model.KindClientPolicy, "default", "sp"),
			Where: "my (new) pol.yaml:5"},
	} {
		c.Kind = model.KindSecurityPolicy
		if c.Where == "" {
			c.Where = "pol.yaml:5"
		}
		if got := DescribeObject(c.Key()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if ref := model.Ref(model.KindHTTPRoute, "shop", "web"); DescribeObject(ref) != ref.String() {
		t.Error(DescribeObject(ref))
	}
}
