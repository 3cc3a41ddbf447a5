package extauth

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// contextMetadata is the namespace in which servers of gRPC find the context.
const contextMetadata = "cardea.dev/context"

// filterName is the name of the filter in its slot. An HTTPRoute's own has another one, so that both run.
const filterName = "policy"

func renderRule(e envoy.Rule, v Value) {
	if v.Server.External {
		e.Set(extend.SlotLoops, nil)
	}
	f := v.extAuthzConfig(e.Cluster(v.Server.Backend))
	if len(v.When) > 0 {
		v.passOthers(e)
		f.FilterEnabledMetadata = shadowMetadata(true)
	}
	if v.Server.GRPC && len(v.Context) > 0 {
		e.Filter(extend.SlotExtAuth, filterName+".context", v.contextMetadataConfig())
	}
	e.Filter(extend.SlotExtAuth, filterName, f)
}

func (v Value) extAuthzConfig(cluster string) *extauthzv3.ExtAuthz {
	f := envoy.ExtAuthz(v.Server, cluster)
	f.StatPrefix, f.ShadowMode, f.FailureModeAllow = cmp.Or(v.Shadow, filterName), v.Shadow != "", v.PassOnFailure
	f.StatusOnError = &typev3.HttpStatus{Code: typev3.StatusCode(v.StatusOnFailure)}
	if b := f.GetWithRequestBody(); b != nil {
		b.AllowPartialMessage = v.Partial || v.Shadow != "" // which refuses nothing
	}
	if s := f.GetGrpcService(); s != nil {
		s.Timeout = durationpb.New(v.Timeout)
		f.MetadataContextNamespaces = []string{envoy.ClaimsMetadata, envoy.UserMetadata}
		if len(v.Context) > 0 {
			f.MetadataContextNamespaces = append(f.MetadataContextNamespaces, contextMetadata)
		}
		return f
	}
	s := f.GetHttpService()
	s.ServerUri.Timeout = durationpb.New(v.Timeout)
	if v.Path != "" {
		s.PathOverride = v.Path
	}
	s.AuthorizationResponse = &extauthzv3.AuthorizationResponse{
		AllowedUpstreamHeaders:        envoy.HeaderNames(v.Server.ResponseHeaders),
		AllowedClientHeaders:          envoy.HeaderNames(append([]string{"content-type"}, v.ToClient...)),
		AllowedClientHeadersOnSuccess: envoy.HeaderNames(v.OnAllow),
	}
	for _, name := range slices.Sorted(maps.Keys(v.Context)) {
		if s.AuthorizationRequest == nil {
			s.AuthorizationRequest = new(extauthzv3.AuthorizationRequest)
		}
		s.AuthorizationRequest.HeadersToAdd = append(s.AuthorizationRequest.HeadersToAdd,
			&corev3.HeaderValue{Key: name, Value: string(v.Context[name])})
	}
	return f
}

// contextMetadataConfig puts the context where the filter takes it from.
func (v Value) contextMetadataConfig() *metadatav3.Config {
	fields := map[string]*structpb.Value{}
	for name, value := range v.Context {
		fields[name] = structpb.NewStringValue(string(value))
	}
	return &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: contextMetadata, AllowOverwrite: true, Value: &structpb.Struct{Fields: fields},
	}}}
}

// Where Envoy's filter rbac says what its shadow rules would do.
const (
	rbacMetadata = "envoy.filters.http.rbac"
	rbacPrefix   = "extauth_"
	rbacResult   = rbacPrefix + "shadow_engine_result"
)

// passOthers finds the requests that the server is not asked about: those that no match takes. A request for which an
// expression can't be evaluated is not among them. Each expression has a filter of its own, which goes on with what the
// one before found.
func (v Value) passOthers(e envoy.Rule) {
	var plain []*rbacconfigv3.Principal
	for _, m := range v.When {
		if m.CEL == "" {
			plain = append(plain, mismatchPrincipals(m, v.Providers)...)
		}
	}
	var before []*rbacconfigv3.Principal
	if len(plain) > 0 {
		e.Filter(extend.SlotExtAuth, filterName+".when",
			shadowFilter(map[string]*rbacconfigv3.Policy{"others": policyOf(plain)}))
		before = append(before, shadowPrincipal())
	}
	for i, m := range v.When {
		if m.CEL == "" {
			continue
		}
		others := map[string]*rbacconfigv3.Policy{}
		for j, p := range envoy.MismatchPolicies(m, v.Providers...) {
			p.Principals = policyOf(append(slices.Clone(before), p.Principals...)).Principals
			others[fmt.Sprint("others/", j)] = p
		}
		e.Filter(extend.SlotExtAuth, fmt.Sprintf("%s.when/%d", filterName, i), shadowFilter(others))
		before = []*rbacconfigv3.Principal{shadowPrincipal()}
	}
}

// mismatchPrincipals are those that together take the requests that a match without an expression does not take.
func mismatchPrincipals(m extend.RequestMatch, providers []string) (all []*rbacconfigv3.Principal) {
	for _, p := range envoy.MismatchPolicies(m, providers...) {
		all = append(all, p.Principals...)
	}
	return all
}

// policyOf takes what all of some principals take.
func policyOf(all []*rbacconfigv3.Principal) *rbacconfigv3.Policy {
	return &rbacconfigv3.Policy{
		Permissions: []*rbacconfigv3.Permission{{Rule: &rbacconfigv3.Permission_Any{Any: true}}},
		Principals: []*rbacconfigv3.Principal{{Identifier: &rbacconfigv3.Principal_AndIds{
			AndIds: &rbacconfigv3.Principal_Set{Ids: all},
		}}},
	}
}

// shadowFilter says in metadata whether one of some policies takes a request, and refuses nothing.
func shadowFilter(policies map[string]*rbacconfigv3.Policy) *rbacv3.RBAC {
	return &rbacv3.RBAC{
		ShadowRulesStatPrefix: rbacPrefix,
		ShadowRules:           &rbacconfigv3.RBAC{Action: rbacconfigv3.RBAC_ALLOW, Policies: policies},
	}
}

// shadowPrincipal takes what the shadow rules before took.
func shadowPrincipal() *rbacconfigv3.Principal {
	return &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_SourcedMetadata{
		SourcedMetadata: &rbacconfigv3.SourcedMetadata{MetadataMatcher: shadowMetadata(false)},
	}}
}

// shadowMetadata compares what the shadow rules said of a request; not: all others, also where they said nothing.
func shadowMetadata(not bool) *matcherv3.MetadataMatcher {
	return &matcherv3.MetadataMatcher{
		Filter: rbacMetadata, Invert: not,
		Path: []*matcherv3.MetadataMatcher_PathSegment{{
			Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: rbacResult},
		}},
		Value: &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{
			StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "allowed"}},
		}},
	}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})

// readFailureStatus reads what becomes of requests while the server can't be asked.
func (v *Value) readFailureStatus(r extend.Reader, s Spec) {
	if s.StatusOnFailure == nil {
		return
	}
	at := r.Field("statusOnFailure")
	status := *s.StatusOnFailure
	switch _, known := typev3.StatusCode_name[status]; {
	case !known || status < 400:
		at.Refuse(fmt.Sprintf("Envoy can't answer with %d; write 403, 401, 429, 500, 502, 503 or 504", status))
	case v.PassOnFailure:
		at.Warn("it has no effect: onFailure is Allow, so nothing is denied on failure")
	}
	v.StatusOnFailure = int(status)
}
