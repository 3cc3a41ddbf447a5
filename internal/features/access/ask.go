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
)

// Server is an authorization server, and what it is asked.
type Server = extend.ExternalAuth

// server reads whom a policy asks; nil: nobody.
func (in *reading) server(s *Spec) *Server {
	f := s.ExternalAuth
	if f == nil {
		return nil
	}
	if !in.upstream && !allowsSome(s.Rules) {
		in.refuse("externalAuth", "the server is asked about the requests of rules with action Allow, and there is none; "+
			"add one without authorization to ask about all")
	}
	server := &Server{GRPC: f.ExternalAuthProtocol == gatewayv1.HTTPRouteExternalAuthGRPCProtocol}
	if !server.GRPC && f.ExternalAuthProtocol != gatewayv1.HTTPRouteExternalAuthHTTPProtocol {
		in.refuse("externalAuth.protocol", "%q is none of GRPC, HTTP", f.ExternalAuthProtocol)
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
	server.Backend, server.External, in.wrong = key, outside, in.wrong || !found
	return server
}

// refers are the references of a policy of either kind.
func refers(spec []byte) []extend.Reference {
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
func (in *reading) headerNames(field string, list []string, check func(string) string) (names []string) {
	for i, name := range list {
		if why := check(name); why != "" {
			in.refuse(fmt.Sprintf("%s[%d]", field, i), "%q: %s", name, why)
		}
		names = append(names, strings.ToLower(name))
	}
	return names
}

// ask asks the servers of a level's policies.
func (w writer) ask() {
	for i, p := range w.level.Policies {
		if p.Asked == nil {
			continue
		}
		for j, about := range w.asked(p) {
			name := func(what string) string { return fmt.Sprintf("access/%s/ask/%d/%d/%s", w.level.Name, i, j, what) }
			f, key := w.shadow(fmt.Sprintf("ask_%d_%d", i, j), about.policies)
			w.Filter(extend.SlotExtAuth, name("if"), f)
			w.Filter(extend.SlotExtAuth, name("begin"), mark(true))
			w.Filter(extend.SlotExtAuth, name("server"), p.asks(w.Cluster(p.Asked.Backend), taken(key, about.unless)))
			w.Filter(extend.SlotExtAuth, name("end"), mark(false))
		}
		if p.Asked.External {
			w.Set(extend.SlotLoops, nil)
		}
	}
}

// asks is the filter that asks about the requests which the shadow rules before it have marked.
func (p Policy) asks(cluster string, about *matcherv3.MetadataMatcher) *extauthzv3.ExtAuthz {
	f := extend.ExtAuthz(*p.Asked, cluster)
	f.StatPrefix, f.ShadowMode, f.FilterEnabledMetadata = "access", p.DryRun, about
	if p.DryRun {
		f.StatPrefix = extend.ShadowPrefix(p.Name, "externalAuth")
	}
	f.StatusOnError = &typev3.HttpStatus{Code: typev3.StatusCode(forbidden)}
	if f.GetGrpcService() != nil {
		f.MetadataContextNamespaces = []string{parsed, extend.ClaimsMetadata, extend.UserMetadata}
	}
	if b := f.GetWithRequestBody(); b != nil {
		b.AllowPartialMessage = p.DryRun // which refuses nothing
	}
	return f
}

// about are requests that a server is asked about: those that one of the policies takes; unless: those that none takes.
type about struct {
	policies map[string]*rbacv3.Policy
	unless   bool
}

// asked are the requests that a policy's server is asked about. If a rule with an expression allows nothing by itself,
// the server is asked about its requests unless the expression is certainly false.
func (w writer) asked(p Policy) (list []about) {
	certain := map[string]*rbacv3.Policy{}
	for _, r := range p.Rules {
		if r.Action == Deny {
			continue
		}
		if cel := r.Authorization.expression(); cel != "" && p.AsksOnly {
			list = append(list, about{w.others(p, r), true})
			continue
		}
		certain[ruleName(p, r)] = w.policy(p, r, true)
	}
	if len(p.Rules) == 0 {
		certain[p.Name] = &rbacv3.Policy{Principals: []*rbacv3.Principal{extend.AllOf(nil)}, Permissions: anything}
	}
	if len(certain) > 0 {
		list = append(list, about{policies: certain})
	}
	return list
}

// taken compares what shadow rules said of a request at a key; not: they took it not.
func taken(key string, not bool) *matcherv3.MetadataMatcher {
	return &matcherv3.MetadataMatcher{
		Filter: rbacSays, Invert: not,
		Path: []*matcherv3.MetadataMatcher_PathSegment{{
			Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: key},
		}},
		Value: text(exactly("allowed")),
	}
}

// mark says whether a server is being asked now.
func mark(on bool) *metadatav3.Config {
	return &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: extend.AccessMetadata, AllowOverwrite: true,
		Value: &structpb.Struct{Fields: map[string]*structpb.Value{extend.AccessAsking: structpb.NewBoolValue(on)}},
	}}}
}
