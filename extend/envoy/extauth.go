package envoy

import (
	"regexp"
	"slices"
	"strings"

	mutationrulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// mutations are what an authorization server may do to the request, by either protocol: no message may be made another
// one, and no rule be left for where none leads. So Host and the pseudo headers (:path) stay as they are, and by
// Envoy's own default what steers the router (x-envoy-*): such headers of the server are ignored, its others are set.
var mutations = &mutationrulesv3.HeaderMutationRules{
	DisallowSystem: wrapperspb.Bool(true),
	DisallowExpression: &matcherv3.RegexMatcher{
		Regex: strings.Join(append(slices.Clone(model.FramingHeaders), model.LoopHeader), "|"),
	},
}

// ExtAuthz renders the filter that asks an authorization server, which is a cluster. Requests that it can't ask about
// are refused (403).
func ExtAuthz(a extend.ExternalAuth, cluster string) *extauthzv3.ExtAuthz {
	f := &extauthzv3.ExtAuthz{
		TransportApiVersion:        corev3.ApiVersion_V3,
		AllowedHeaders:             HeaderNames(a.RequestHeaders),
		ValidateMutations:          true,
		DecoderHeaderMutationRules: mutations,
	}
	if a.MaxBody > 0 {
		f.WithRequestBody = &extauthzv3.BufferSettings{MaxRequestBytes: uint32(a.MaxBody), PackAsBytes: a.GRPC}
	}
	if a.GRPC {
		f.Services = &extauthzv3.ExtAuthz_GrpcService{GrpcService: &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
				ClusterName: cluster,
				// The default is the cluster's name, but many servers refuse its slashes.
				Authority: a.Backend.Object.Name() + "." + a.Backend.Object.Namespace(),
			}},
			Timeout: durationpb.New(extend.AuthTimeout),
		}}
		if a.External {
			f.GetGrpcService().InitialMetadata = []*corev3.HeaderValue{LastHop()}
		}
		return f
	}
	copied := HeaderNames(a.ResponseHeaders)
	if copied == nil {
		copied = &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{
				SafeRegex: &matcherv3.RegexMatcher{Regex: noneOf(extend.UncopiedHeaders)},
			},
		}}}
	}
	service := &extauthzv3.HttpService{
		ServerUri: &corev3.HttpUri{
			Uri:              "http://" + a.Backend.Object.Name(), // the request's own Host is sent
			HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: cluster},
			Timeout:          durationpb.New(extend.AuthTimeout),
		},
		AuthorizationResponse: &extauthzv3.AuthorizationResponse{AllowedUpstreamHeaders: copied},
	}
	if a.External {
		service.AuthorizationRequest = &extauthzv3.AuthorizationRequest{HeadersToAdd: []*corev3.HeaderValue{LastHop()}}
	}
	if a.Path != "" {
		service.PathPrefix = "/" + strings.TrimPrefix(a.Path, "/")
	}
	f.Services = &extauthzv3.ExtAuthz_HttpService{HttpService: service}
	return f
}

// HeaderNames matches headers by name; nil if there are none.
func HeaderNames(names []string) *matcherv3.ListStringMatcher {
	if len(names) == 0 {
		return nil
	}
	list := &matcherv3.ListStringMatcher{}
	for _, name := range names {
		list.Patterns = append(list.Patterns, text(extend.Exact, name, true))
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

// LastHop is the header of a question to an authorization server, since Envoy can't count the headers there, and of a
// copy, since a rule may make several. No rule that sends anything to a hostname takes a request with it.
func LastHop() *corev3.HeaderValue {
	tokens := strings.TrimSuffix(strings.Repeat(model.LoopToken+", ", model.MaxHops), ", ")
	return &corev3.HeaderValue{Key: model.LoopHeader, Value: tokens}
}
