package authorization

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// configs keeps what is put into slots, by its name there.
type configs struct {
	envoy.Rule
	of map[string]*filterv3.RBAC
}

func (c *configs) Filter(_ extend.Slot, name string, config proto.Message) {
	c.of[name] = config.(*filterv3.RBAC)
}

func rendered(v Value) map[string]*filterv3.RBAC {
	c := &configs{of: map[string]*filterv3.RBAC{}}
	renderRule(c, v)
	return c.of
}

func matching(p extend.RequestParts) []extend.RequestMatch {
	return []extend.RequestMatch{{RequestParts: p}}
}

// TestFiltersOfEntries: deny is one filter that denies; require is a filter for each entry, since each must allow;
// allow is one filter, since one entry is enough: entries of several policies have names, and no order.
func TestFiltersOfEntries(t *testing.T) {
	get := matching(extend.RequestParts{Methods: []string{"GET"}})
	entries := []Entry{{Name: "a", Matches: get}, {Name: "b", Matches: get}}
	var got []string
	for name, f := range rendered(Value{Deny: entries, Require: entries, Allow: entries}) {
		got = append(got, fmt.Sprintf("%s %s %d", name, f.GetRules().GetAction(), len(f.GetRules().GetPolicies())))
	}
	slices.Sort(got)
	want := []string{"allow ALLOW 2", "deny DENY 2", "require/a ALLOW 1", "require/b ALLOW 1"}
	if !slices.Equal(got, want) {
		t.Errorf("filters %q, want %q", got, want)
	}
}

// TestExpressionsNeverDeny: an expression that can't be evaluated is no match, and would let pass what is denied. So it
// stands in a filter that allows all others.
func TestExpressionsNeverDeny(t *testing.T) {
	v := Value{Deny: []Entry{{Name: "a", Matches: matching(extend.RequestParts{CEL: "request.headers['a'] == 'b'"})}}}
	for name, f := range rendered(v) {
		for policy, p := range f.GetRules().GetPolicies() {
			if p.GetCondition() != nil && f.GetRules().GetAction() == rbacv3.RBAC_DENY {
				t.Errorf("%s %s: an expression denies", name, policy)
			}
		}
	}
	if len(rendered(v)) != 1 {
		t.Errorf("filters %v", rendered(v))
	}
}

// TestAddressesAreTheClients: as the ClientPolicy finds them, never those of a proxy before.
func TestAddressesAreTheClients(t *testing.T) {
	v := Value{Require: []Entry{{Name: "a", Matches: matching(extend.RequestParts{ClientCIDRs: []string{"10.0.0.0/8"}})}}}
	text := prototext.Format(rendered(v)["require/a"])
	if !strings.Contains(text, "remote_ip") || strings.Contains(text, "direct_remote_ip") {
		t.Errorf("an address is compared as\n%s", text)
	}
}

// TestShadowRefusesNothing: what is only tried stands in shadow rules.
func TestShadowRefusesNothing(t *testing.T) {
	get := matching(extend.RequestParts{Methods: []string{"GET"}})
	cel := matching(extend.RequestParts{CEL: "request.method == 'GET'"})
	v := Value{
		Deny:    []Entry{{Name: "a", Matches: get, Mode: Shadow}, {Name: "b", Matches: cel, Mode: Shadow}},
		Require: []Entry{{Name: "c", Matches: get, Mode: Shadow}}, Allow: []Entry{{Name: "d", Matches: get, Mode: Shadow}},
	}
	for name, f := range rendered(v) {
		if f.GetRules() != nil || f.GetShadowRules() == nil {
			t.Errorf("%s refuses: %v", name, f)
		}
	}
}
