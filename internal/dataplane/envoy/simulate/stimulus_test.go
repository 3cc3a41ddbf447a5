package simulate

import (
	"net/http"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/request"
)

// TestStimuli: each origin that is allowed has a request and a preflight, and there is one with all headers that
// change, but for those that the client sends anyway.
func TestStimuli(t *testing.T) {
	policy := &corsv3.CorsPolicy{}
	for _, expression := range []string{`(?i)HTTPS://a\.ex(:443)?`, ".*"} {
		policy.AllowOriginStringMatch = append(policy.AllowOriginStringMatch, &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: expression}},
		})
	}
	settings, err := anypb.New(policy)
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string) []*corev3.HeaderValueOption {
		return []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: name, Value: "1"}}}
	}
	route := Route{levels: []map[string]*anypb.Any{{"cors": settings}}, rendered: &routev3.Route{
		RequestHeadersToAdd: add("x-a"), RequestHeadersToRemove: []string{"x-b", "x-own"},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_WeightedClusters{
			WeightedClusters: &routev3.WeightedCluster{
				Clusters: []*routev3.WeightedCluster_ClusterWeight{{RequestHeadersToAdd: add("x-c")}},
			},
		}}},
	}}
	var got []string
	for _, r := range route.Stimuli(request.Request{Method: http.MethodPut, Header: http.Header{"X-Own": {"mine"}}}) {
		text := r.Method
		for _, name := range request.HeaderNames(r.Header) {
			text += " " + name + ":" + r.Header.Get(name)
		}
		got = append(got, text)
	}
	const asks = "OPTIONS Access-Control-Request-Headers:x-witness Access-Control-Request-Method:PUT "
	want := []string{
		"PUT X-A:witness X-B:witness X-C:witness X-Own:mine",
		"PUT Origin:https://a.ex X-Own:mine", asks + "Origin:https://a.ex X-Own:mine",
		"PUT Origin:https://any.example X-Own:mine", asks + "Origin:https://any.example X-Own:mine",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
