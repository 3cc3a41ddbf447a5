package envoy

import (
	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	celv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/formatter/cel/v3"
	fractionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/input_matchers/runtime_fraction/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// AccessLogMetadata is the namespace of dynamic metadata that has what rules add to their lines of access logs.
const AccessLogMetadata = "cardea.access_log"

// accessLogStats begins the key under which AccessLogSample leaves its decision; Envoy ends it.
const (
	accessLogStats    = "access_log_"
	accessLogDecision = accessLogStats + "shadow_engine_result"
	rbacMetadata      = "envoy.filters.http.rbac"
)

// AccessLogSample is an HTTP filter that decides which share of requests every access log takes. It stops none: RBAC in
// shadow leaves a decision where a log's filter reads it, by a hash of the request's ID.
func AccessLogSample(share *typev3.FractionalPercent) proto.Message {
	return &rbacfilterv3.RBAC{ShadowRulesStatPrefix: accessLogStats, ShadowMatcher: &xdsmatcherv3.Matcher{
		OnNoMatch: accessLogAction("dropped", rbacv3.RBAC_DENY),
		MatcherType: &xdsmatcherv3.Matcher_MatcherList_{MatcherList: &xdsmatcherv3.Matcher_MatcherList{
			Matchers: []*xdsmatcherv3.Matcher_MatcherList_FieldMatcher{{
				Predicate: ofRequestIDs(share), OnMatch: accessLogAction("logged", rbacv3.RBAC_ALLOW),
			}},
		}},
	}}
}

func ofRequestIDs(share *typev3.FractionalPercent) *xdsmatcherv3.Matcher_MatcherList_Predicate {
	id := packed(&matcherv3.HttpRequestHeaderMatchInput{HeaderName: "x-request-id"})
	sampled := packed(&fractionv3.RuntimeFraction{
		RuntimeFraction: &corev3.RuntimeFractionalPercent{DefaultValue: share},
	})
	return &xdsmatcherv3.Matcher_MatcherList_Predicate{
		MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
			SinglePredicate: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
				Input: &xdscorev3.TypedExtensionConfig{Name: "id", TypedConfig: id},
				Matcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_CustomMatch{
					CustomMatch: &xdscorev3.TypedExtensionConfig{Name: "share", TypedConfig: sampled},
				},
			},
		},
	}
}

func accessLogAction(name string, action rbacv3.RBAC_Action) *xdsmatcherv3.Matcher_OnMatch {
	config := packed(&rbacv3.Action{Name: name, Action: action})
	return &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Action{
		Action: &xdscorev3.TypedExtensionConfig{Name: name, TypedConfig: config},
	}}
}

// AccessLogFilter takes the requests that AccessLogSample did not drop. Every access log has it.
func AccessLogFilter() *accesslogv3.AccessLogFilter {
	decision := &matcherv3.MetadataMatcher_PathSegment{
		Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: accessLogDecision},
	}
	allowed := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "allowed"}}
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_MetadataFilter{
		MetadataFilter: &accesslogv3.MetadataFilter{
			Matcher: &matcherv3.MetadataMatcher{
				Filter: rbacMetadata, Path: []*matcherv3.MetadataMatcher_PathSegment{decision},
				Value: &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: allowed}},
			},
			MatchIfKeyNotFound: wrapperspb.Bool(true),
		},
	}}
}

// accessLogFields are what a line has of each request. The objects' names come from the route's name, which is
// kind/namespace/name/rule. There is no query, and no header that could be a secret.
var accessLogFields = map[string]string{
	"time": "%START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)%",
	"route": "%CEL((xds.route_name.startsWith('grpcroute/') ? 'GRPCRoute ' : 'HTTPRoute ') + " +
		"xds.route_name.split('/')[1] + '/' + xds.route_name.split('/')[2])%",
	"rule":    "%CEL(xds.route_name.split('/')[3])%",
	"backend": "%UPSTREAM_CLUSTER%", "endpoint": "%UPSTREAM_HOST%",
	"method": "%REQ(:METHOD)%", "host": "%REQ(:AUTHORITY)%", "path": "%PATH(NQ:ORIG_OR_PATH)%", "protocol": "%PROTOCOL%",
	"status": "%RESPONSE_CODE%", "flags": "%RESPONSE_FLAGS%", "details": AccessLogDetails,
	"durationMs": "%DURATION%", "bytesReceived": "%BYTES_RECEIVED%", "bytesSent": "%BYTES_SENT%",
	"requestId": "%REQ(X-REQUEST-ID)%", "client": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
	"attributes": "%DYNAMIC_METADATA(" + AccessLogMetadata + ")%",
	// The caller, its request to a server of MCP, and what access policies said: at each level the result and the rule.
	"caller": "%DOWNSTREAM_PEER_URI_SAN%", "user": accessLogUser,
	"mcpMethod": "%DYNAMIC_METADATA(envoy.filters.http.mcp:method)%",
	"mcpName":   "%DYNAMIC_METADATA(envoy.filters.http.mcp:params:name)%",
	"access":    "%DYNAMIC_METADATA(" + rbacMetadata + ")%",
	// The answer of extAuth's server in mode Shadow; "access" has what authorization would have refused.
	"shadow": "%FILTER_STATE(policy.shadow:FIELD:check_result)%",
	// The tokens that a model's answer took (modelUsage of a TrafficPolicy).
	"model": usage("model"), "modelCaller": usage("caller"), "inputTokens": usage("input_tokens"),
	"outputTokens": usage("output_tokens"), "cachedTokens": usage("cached_tokens"),
}

// accessLogUser is the format of who authentication found: the user of a key or a password, else the claim sub of the
// accepted token.
var accessLogUser = `%COALESCE({"operators":[{"command":"DYNAMIC_METADATA","param":"` + UserMetadata + ":" + UserKey +
	`"},{"command":"CEL","param":"` + ClaimExpression([]string{"sub"}) + `"}]})%`

// Where errorResponses leave why an answer was made, and what Envoy says in its place once a page replaced the answer.
const (
	ErrorMetadata    = "cardea.errors"
	ErrorDetails     = "details"
	ErrorPageDetails = "error_page"
)

// AccessLogDetails is the format of why an answer was made: %RESPONSE_CODE_DETAILS%, or for a page the details of the
// answer that it replaces.
const AccessLogDetails = "%CEL(response.code_details == '" + ErrorPageDetails + "' ? metadata.filter_metadata['" +
	ErrorMetadata + "']['" + ErrorDetails + "'] : response.code_details)%"

func usage(key string) string { return "%DYNAMIC_METADATA(" + UsageMetadata + ":" + key + ")%" }

// AccessLogJSON are the fields of a line, as formats; own are others, which count in place of those of the same names.
func AccessLogJSON(own map[string]string) *structpb.Struct {
	fields := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, list := range []map[string]string{accessLogFields, own} {
		for name, format := range list {
			fields.Fields[name] = structpb.NewStringValue(format)
		}
	}
	return fields
}

// AccessLogFormat is a line of JSON with fields. Fields that a request does not have are left out.
func AccessLogFormat(fields *structpb.Struct) *corev3.SubstitutionFormatString {
	return &corev3.SubstitutionFormatString{
		OmitEmptyValues: true, Formatters: AccessLogFormatters(),
		Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: fields},
	}
}

// AccessLogFormatters are what the formats of access logs need besides Envoy's own commands.
func AccessLogFormatters() []*corev3.TypedExtensionConfig {
	return []*corev3.TypedExtensionConfig{{Name: "envoy.formatter.cel", TypedConfig: packed(&celv3.Cel{
		CelConfig: &corev3.CelExpressionConfig{EnableStringFunctions: true, EnableStringConcat: true},
	})}}
}

func packed(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err)
	}
	return a
}
