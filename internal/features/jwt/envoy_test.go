package jwt

import (
	"slices"
	"testing"
	"time"

	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// rendered is an envoy.Rule that keeps what the feature renders.
type rendered struct {
	envoy.Rule // for what the feature does not use
	chosen     *jwtv3.PerRouteConfig
	entry      *jwtv3.JwtAuthentication
	told       proto.Message
}

func (r *rendered) Filter(_ extend.Slot, _ string, config proto.Message) { r.told = config }

func (r *rendered) Set(_ extend.Slot, config proto.Message, _ ...string) {
	r.chosen = config.(*jwtv3.PerRouteConfig)
}

func (r *rendered) Shared(_ extend.Slot, _ string, entry proto.Message) {
	r.entry = entry.(*jwtv3.JwtAuthentication)
}

func (r *rendered) Cluster(b extend.BackendKey) string { return b.Describe() }

func valueOf(keys Keys) Value {
	return Value{Mode: Strict, Providers: []ResolvedProvider{{
		Name: "corp", Issuer: "https://corp", Keys: keys, Claims: []Claim{{Path: []string{"sub"}, Header: "x-user"}},
	}}}
}

func of(keys Keys) *rendered {
	r := new(rendered)
	renderRule(r, valueOf(keys))
	return r
}

// TestARotationChangesNoName: what routes name stays when keys that are fetched change, and is another for keys that
// are stated, from another URL, or fetched by proxies.
func TestARotationChangesNoName(t *testing.T) {
	fetched := func(text string) Keys {
		return Keys{Text: text, Document: extend.Document{URL: "https://corp/keys", Refresh: time.Minute}}
	}
	first, second := of(fetched("one")), of(fetched("two"))
	if !proto.Equal(first.chosen, second.chosen) || proto.Equal(first.entry, second.entry) {
		t.Errorf("%v and %v: want one name", first.chosen, second.chosen)
	}
	elsewhere := fetched("one")
	elsewhere.Document.URL += "2"
	for about, keys := range map[string]Keys{
		"stated": {Text: "one"}, "from elsewhere": elsewhere, "by proxies": fetched(""),
	} {
		if other := of(keys); proto.Equal(first.chosen, other.chosen) {
			t.Errorf("%s: the name is that of keys that are fetched", about)
		}
	}
	if one, other := of(Keys{Text: "one"}), of(Keys{Text: "two"}); proto.Equal(one.chosen, other.chosen) {
		t.Error("keys that are stated have one name")
	}
}

// TestTraps: a claim never chooses the route anew, since the first route's filters would stand guard over another one;
// its header is taken off what clients send; proxies fetch keys without a request that waits; and later filters are
// told which providers count here.
func TestTraps(t *testing.T) {
	r := of(Keys{Document: extend.Document{URL: "https://corp/keys", Refresh: time.Minute}})
	for _, p := range r.entry.GetProviders() {
		if p.GetClearRouteCache() || p.GetRemoteJwks().GetAsyncFetch() == nil {
			t.Errorf("%v: want no clear_route_cache, and async_fetch", p)
		}
	}
	only := listIdentityHeaders(valueOf(Keys{})).Only
	if len(r.entry.GetProviders()) != 1 || r.entry.GetBypassCorsPreflight() || !slices.Equal(only, []string{"x-user"}) {
		t.Errorf("%v, set are %v", r.entry, only)
	}
	if want := envoy.ProvidersFilter([]string{"corp"}); !proto.Equal(r.told, want) {
		t.Errorf("later filters are told %v, want %v", r.told, want)
	}
}
