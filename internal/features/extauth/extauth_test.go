package extauth

import (
	"reflect"
	"slices"
	"testing"

	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// rendered notes what is rendered for a rule.
type rendered struct {
	envoy.Rule
	filters []string
	asks    *extauthzv3.ExtAuthz
	slots   []extend.Slot
}

func (r *rendered) Filter(slot extend.Slot, name string, config proto.Message) {
	r.filters = append(r.filters, string(slot)+" "+name)
	if f, is := config.(*extauthzv3.ExtAuthz); is {
		r.asks = f
	}
}

func (r *rendered) Set(slot extend.Slot, _ proto.Message, _ ...string) {
	r.slots = append(r.slots, slot)
}
func (r *rendered) Cluster(extend.BackendKey) string { return "cluster" }

// TestWhoIsAsked: matches without expressions share a filter; each expression has one of its own, since a request for
// which it can't be evaluated must be asked about.
func TestWhoIsAsked(t *testing.T) {
	get := extend.RequestMatch{RequestParts: extend.RequestParts{Methods: []string{"GET"}}}
	cel := extend.RequestMatch{RequestParts: extend.RequestParts{CEL: "request.method == 'GET'"}}
	for _, c := range []struct {
		when []extend.RequestMatch
		want []string
	}{
		{nil, []string{"extauth policy"}},
		{[]extend.RequestMatch{get, get}, []string{"extauth policy.when", "extauth policy"}},
		{[]extend.RequestMatch{cel}, []string{"extauth policy.when/0", "extauth policy"}},
		{[]extend.RequestMatch{cel, get}, []string{"extauth policy.when", "extauth policy.when/0", "extauth policy"}},
	} {
		r := new(rendered)
		renderRule(r, Value{When: c.when, StatusOnFailure: 403})
		if !slices.Equal(r.filters, c.want) {
			t.Errorf("%v: filters %q, want %q", c.when, r.filters, c.want)
		}
		if limited := r.asks.GetFilterEnabledMetadata().GetInvert(); limited != (c.when != nil) {
			t.Errorf("%v: the filter runs for all but those that pass: %v", c.when, limited)
		}
	}
}

// TestWhatClientsCantSay: headers that the server sets are taken off, but for what it is shown. Credentials are a
// client's own. A server elsewhere can't be asked in circles.
func TestWhatClientsCantSay(t *testing.T) {
	v := Value{StatusOnFailure: 403}
	v.Server.ResponseHeaders, v.Server.RequestHeaders = []string{"x-user", "x-shown", "authorization"}, []string{"x-shown"}
	v.Server.External = true
	r := new(rendered)
	renderRule(r, v)
	want := extend.IdentityHeaders{Only: []string{"x-user"}, Also: []string{"x-shown"}}
	if got := listIdentityHeaders(v); !reflect.DeepEqual(got, want) {
		t.Errorf("set are %q, want %q", got, want)
	}
	if hop := r.asks.GetHttpService().GetAuthorizationRequest().GetHeadersToAdd(); len(hop) != 1 ||
		!slices.Equal(r.slots, []extend.Slot{extend.SlotLoops}) {
		t.Errorf("a question has %v, and on are %v", hop, r.slots)
	}
}

func TestJudge(t *testing.T) {
	v := Value{Name: "Service default/auth"}
	want := []extend.Verdict{{Status: extend.AnyStatus, If: "Service default/auth allows it"}}
	if got := judgeRequest(extend.Request{}, v); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	v.Shadow = "shadow/default/auth/extAuth/"
	want[0].Shadow = "extAuth in mode Shadow"
	if got := judgeRequest(extend.Request{}, v); len(got) != 2 || got[0].Status != 0 || got[1] != want[0] {
		t.Errorf("in shadow mode: %v", got)
	}
}
