package access

import (
	"encoding/json"
	"fmt"
	"strings"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/structpb"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// Server is an authorization server, and what it is asked.
type Server = extend.ExternalAuth

// readServer reads whom a policy asks; nil: nobody.
func (in *specReader) readServer(s *Spec) *Server {
	f := s.ExternalAuth
	if f == nil {
		return nil
	}
	if !in.upstream && !allowsSome(s.Rules) {
		in.refuseField("externalAuth",
			"the server is asked only about requests that a rule with action Allow matches, and there is no such rule; add "+
				"one without authorization to ask about all requests")
	}
	server := &Server{GRPC: f.ExternalAuthProtocol == gatewayv1.HTTPRouteExternalAuthGRPCProtocol}
	if !server.GRPC && f.ExternalAuthProtocol != gatewayv1.HTTPRouteExternalAuthHTTPProtocol {
		in.refuseField("externalAuth.protocol", "%q is unknown; write GRPC or HTTP", f.ExternalAuthProtocol)
	}
	switch {
	case server.GRPC && f.GRPCAuthConfig != nil:
		server.RequestHeaders = in.headerNames("externalAuth.grpc.allowedHeaders", f.GRPCAuthConfig.AllowedRequestHeaders,
			func(string) string { return "" })
	case !server.GRPC && f.HTTPAuthConfig != nil:
		server.RequestHeaders = in.headerNames("externalAuth.http.allowedHeaders", f.HTTPAuthConfig.AllowedRequestHeaders,
			func(string) string { return "" })
		server.ResponseHeaders = in.headerNames("externalAuth.http.allowedResponseHeaders",
			f.HTTPAuthConfig.AllowedResponseHeaders, extend.CheckCopied)
		server.Path = strings.TrimRight(f.HTTPAuthConfig.Path, "/")
	}
	if f.ForwardBody != nil {
		server.MaxBody = int32(f.ForwardBody.MaxSize)
	}
	key, outside, found := in.r.Field("externalAuth.backendRef").Server(f.BackendRef, server.GRPC)
	server.Backend, server.External, in.invalid = key, outside, in.invalid || !found
	return server
}

// listReferences are the references of a policy of either kind.
func listReferences(spec []byte) []extend.Reference {
	var s struct {
		ExternalAuth *gatewayv1.HTTPExternalAuthFilter `json:"externalAuth"`
	}
	if json.Unmarshal(spec, &s) != nil || s.ExternalAuth == nil {
		return nil // read refuses it
	}
	return []extend.Reference{{Backend: &s.ExternalAuth.BackendRef}}
}

func allowsSome(rules []Rule) bool {
	for _, r := range rules {
		if r.Action != Deny {
			return true
		}
	}
	return false
}

// headerNames reads names of headers, in small letters.
func (in *specReader) headerNames(field string, list []string, check func(string) string) (names []string) {
	for i, name := range list {
		if why := check(name); why != "" {
			in.refuseField(fmt.Sprintf("%s[%d]", field, i), "%q: %s", name, why)
		}
		names = append(names, strings.ToLower(name))
	}
	return names
}

// addServerFilters asks the servers of a level's policies.
func (w levelRenderer) addServerFilters() {
	for i, p := range w.level.Policies {
		if p.Asked == nil {
			continue
		}
		for j, about := range w.serverScopes(p) {
			name := func(what string) string { return fmt.Sprintf("access/%s/ask/%d/%d/%s", w.level.Name, i, j, what) }
			f, key := w.shadowFilter(fmt.Sprintf("ask_%d_%d", i, j), about.policies)
			w.Filter(extend.SlotExtAuth, name("if"), f)
			w.Filter(extend.SlotExtAuth, name("begin"), markAsking(true))
			w.Filter(extend.SlotExtAuth, name("server"), p.extAuthzConfig(w.Cluster(p.Asked.Backend), matchShadowAllowed(key,
				about.inverted)))
			w.Filter(extend.SlotExtAuth, name("end"), markAsking(false))
		}
		if p.Asked.External {
			w.Set(extend.SlotLoops, nil)
		}
	}
}

// extAuthzConfig is the filter that asks about the requests which the shadow rules before it have marked.
func (p Policy) extAuthzConfig(cluster string, about *matcherv3.MetadataMatcher) *extauthzv3.ExtAuthz {
	f := envoy.ExtAuthz(*p.Asked, cluster)
	f.StatPrefix, f.ShadowMode, f.FilterEnabledMetadata = "access", p.DryRun, about
	if p.DryRun {
		f.StatPrefix = extend.ShadowPrefix(p.Name, "externalAuth")
	}
	f.StatusOnError = &typev3.HttpStatus{Code: typev3.StatusCode(forbiddenStatus)}
	if f.GetGrpcService() != nil {
		f.MetadataContextNamespaces = []string{mcpNamespace, envoy.ClaimsMetadata, envoy.UserMetadata}
	}
	if b := f.GetWithRequestBody(); b != nil {
		b.AllowPartialMessage = p.DryRun // which refuses nothing
	}
	return f
}

// serverScope are requests that a server is asked about: those that one of the policies takes; unless: those that none
// takes.
type serverScope struct {
	policies map[string]*rbacv3.Policy
	inverted bool
}

// serverScopes are the requests that a policy's server is asked about. If a rule with an expression allows nothing by
// itself, the server is asked about its requests unless the expression is certainly false.
func (w levelRenderer) serverScopes(p Policy) (list []serverScope) {
	certain := map[string]*rbacv3.Policy{}
	for _, r := range p.Rules {
		if r.Action == Deny {
			continue
		}
		if cel := r.Authorization.celExpression(); cel != "" && p.AsksOnly {
			list = append(list, serverScope{w.mismatchPolicies(p, r), true})
			continue
		}
		certain[ruleName(p, r)] = w.rulePolicy(p, r, true)
	}
	if len(p.Rules) == 0 {
		certain[p.Name] = &rbacv3.Policy{Principals: []*rbacv3.Principal{envoy.AllOf(nil)}, Permissions: anyPermission}
	}
	if len(certain) > 0 {
		list = append(list, serverScope{policies: certain})
	}
	return list
}

// matchShadowAllowed compares what shadow rules said of a request at a key; not: they took it not.
func matchShadowAllowed(key string, not bool) *matcherv3.MetadataMatcher {
	return &matcherv3.MetadataMatcher{
		Filter: rbacNamespace, Invert: not,
		Path: []*matcherv3.MetadataMatcher_PathSegment{{
			Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: key},
		}},
		Value: textValueMatcher(exactMatcher("allowed")),
	}
}

// markAsking says whether a server is being asked now.
func markAsking(on bool) *metadatav3.Config {
	return &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: envoy.AccessMetadata, AllowOverwrite: true,
		Value: &structpb.Struct{Fields: map[string]*structpb.Value{envoy.AccessAsking: structpb.NewBoolValue(on)}},
	}}}
}
