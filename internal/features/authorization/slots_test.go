package authorization

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// filters notes where filters are put; nothing else is asked of a rule here.
type filters struct {
	envoy.Rule
	at []string
}

func (f *filters) Filter(slot extend.Slot, name string, _ proto.Message) {
	f.at = append(f.at, string(slot)+" "+name)
}

// TestWhatNeedsAnIdentityComesAfterAuthentication: an entry of which a match needs one goes there whole; of allow, the
// whole list does.
func TestWhatNeedsAnIdentityComesAfterAuthentication(t *testing.T) {
	get := extend.RequestMatch{RequestParts: extend.RequestParts{Methods: []string{"GET"}}}
	ann := extend.RequestMatch{RequestParts: extend.RequestParts{Users: []string{"ann"}}}
	cel := extend.RequestMatch{RequestParts: extend.RequestParts{CEL: "request.method == 'GET'"}}
	entry := func(name string, matches ...extend.RequestMatch) Entry { return Entry{Name: name, Matches: matches} }
	for _, c := range []struct {
		v    Value
		want []string
	}{
		{Value{Deny: []Entry{entry("a", get)}}, []string{"guard deny"}},
		{Value{Deny: []Entry{entry("a", get), entry("b", get, ann)}}, []string{"guard deny", "authz deny"}},
		{Value{Deny: []Entry{entry("a", get, cel)}}, []string{"guard deny/a/1", "guard deny"}},
		{Value{Deny: []Entry{entry("a", cel, ann)}}, []string{"authz deny/a/0", "authz deny"}},
		{Value{Require: []Entry{entry("a", get), entry("b", ann)}}, []string{"guard require/a", "authz require/b"}},
		{Value{Allow: []Entry{entry("a", get), entry("b", get)}}, []string{"guard allow"}},
		{Value{Allow: []Entry{entry("a", get), entry("b", ann)}}, []string{"authz allow"}},
	} {
		f := new(filters)
		renderRule(f, c.v)
		if !slices.Equal(f.at, c.want) {
			t.Errorf("%+v: filters %q, want %q", c.v, f.at, c.want)
		}
	}
}
