package envoy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	mutationrulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/model"
)

// notCopied are headers of an authorization server's answer that belong to that answer alone. The Gateway API names
// Host; the others would break the request that is sent on.
var notCopied = slices.Concat(model.Framing, []string{
	":status", "authority", "content-encoding", "content-type", "date", "host", "server", "te", "trailer",
})

// mutations are what an authorization server may do to the request, by either protocol: no message may be made another
// one, and no rule be left for where none leads. So Host and the pseudo headers (:path) stay as they are, and by
// Envoy's own default what steers the router (x-envoy-*); the server is not heard in that, and its other headers are
// set.
var mutations = &mutationrulesv3.HeaderMutationRules{
	DisallowSystem: wrapperspb.Bool(true),
	DisallowExpression: &matcherv3.RegexMatcher{
		Regex: strings.Join(append(slices.Clone(model.Framing), model.LoopHeader), "|"),
	},
}

// steering is how names of headers begin by which Envoy's router is told what to do.
const steering = "x-envoy"

// checkAuth finds what is asked to be copied and would not be.
func checkAuth(a *model.ExternalAuth) error {
	if a == nil {
		return nil
	}
	for _, name := range a.ResponseHeaders {
		if strings.HasPrefix(name, steering) {
			return fmt.Errorf("an authorization server can't set %s: headers that begin with %s steer the proxy", name, steering)
		}
	}
	return nil
}

// sanitise renders the filter that takes off a request what only the authorization server may say of it (x-user): else
// a client's own word passes where the server has none. What the server is shown it judges, so that stays. nil: nothing
// is known to be the server's, as it may answer with any header, or has words of its own for what is removed (gRPC).
func sanitise(a *model.ExternalAuth) *headermutationv3.HeaderMutation {
	var remove []*mutationrulesv3.HeaderMutation
	for _, name := range a.ResponseHeaders {
		if name != "authorization" && !slices.Contains(a.RequestHeaders, name) {
			remove = append(remove, &mutationrulesv3.HeaderMutation{
				Action: &mutationrulesv3.HeaderMutation_Remove{Remove: name},
			})
		}
	}
	if len(remove) == 0 {
		return nil
	}
	return &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{RequestMutations: remove}}
}

// externalAuth renders the filter that asks an authorization server. What it can't ask about is refused (403).
func externalAuth(a *model.ExternalAuth) *extauthzv3.ExtAuthz {
	f := &extauthzv3.ExtAuthz{
		TransportApiVersion:        corev3.ApiVersion_V3,
		AllowedHeaders:             headerNames(a.RequestHeaders),
		ValidateMutations:          true,
		DecoderHeaderMutationRules: mutations,
	}
	if a.MaxBody > 0 {
		f.WithRequestBody = &extauthzv3.BufferSettings{MaxRequestBytes: uint32(a.MaxBody), PackAsBytes: a.GRPC}
	}
	cluster := clusterName(a.Backend)
	if a.GRPC {
		f.Services = &extauthzv3.ExtAuthz_GrpcService{GrpcService: &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
				ClusterName: cluster,
				// Else the cluster's name, whose slashes many servers refuse.
				Authority: a.Backend.Object.Name() + "." + a.Backend.Object.Namespace(),
			}},
			Timeout: seconds(authTimeout),
		}}
		if a.External {
			f.GetGrpcService().InitialMetadata = []*corev3.HeaderValue{lastHop()}
		}
		return f
	}
	copied := headerNames(a.ResponseHeaders)
	if copied == nil {
		copied = &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: noneOf(notCopied)}},
		}}}
	}
	service := &extauthzv3.HttpService{
		ServerUri: &corev3.HttpUri{
			Uri:              "http://" + a.Backend.Object.Name(), // the request's own Host is sent
			HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: cluster},
			Timeout:          seconds(authTimeout),
		},
		AuthorizationResponse: &extauthzv3.AuthorizationResponse{AllowedUpstreamHeaders: copied},
	}
	if a.External {
		service.AuthorizationRequest = &extauthzv3.AuthorizationRequest{HeadersToAdd: []*corev3.HeaderValue{lastHop()}}
	}
	if a.Path != "" {
		service.PathPrefix = rooted(a.Path)
	}
	f.Services = &extauthzv3.ExtAuthz_HttpService{HttpService: service}
	return f
}

// headerNames matches headers by name; nil if there are none.
func headerNames(names []string) *matcherv3.ListStringMatcher {
	if len(names) == 0 {
		return nil
	}
	list := &matcherv3.ListStringMatcher{}
	for _, name := range names {
		m := exactly(name)
		m.IgnoreCase = true
		list.Patterns = append(list.Patterns, m)
	}
	return list
}

// noneOf is a regular expression that matches every string but the words. RE2 has no negation, so it is spelled out: at
// each character a string either leaves all words, or goes on with some, and it must not end where one of them does.
func noneOf(words []string) string {
	words = slices.Sorted(slices.Values(words))
	var next []string // the first characters
	for _, w := range words {
		if w != "" && !slices.Contains(next, w[:1]) {
			next = append(next, w[:1])
		}
	}
	var arms []string
	if words[0] != "" {
		arms = append(arms, "") // it may end here
	}
	if len(next) > 0 {
		quoted := make([]string, len(next))
		for i, c := range next {
			quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(c), "-", `\-`)
		}
		arms = append(arms, "[^"+strings.Join(quoted, "")+"].*")
	} else {
		arms = append(arms, ".+")
	}
	for _, c := range next {
		var rest []string
		for _, w := range words {
			if tail, ok := strings.CutPrefix(w, c); ok {
				rest = append(rest, tail)
			}
		}
		arms = append(arms, regexp.QuoteMeta(c)+noneOf(rest))
	}
	return "(?:" + strings.Join(arms, "|") + ")"
}
