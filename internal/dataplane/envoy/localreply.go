package envoy

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// mcpMetadata is where the filter mcp says what it read of a request.
const mcpMetadata = "envoy.filters.http.mcp"

// localReplies are how Envoy's own answers are written. The first mapper that takes an answer counts.
func localReplies() *hcmv3.LocalReplyConfig {
	return &hcmv3.LocalReplyConfig{Mappers: append(challengeReplies(), resourceMetadataReply(), featureReply(),
		forbiddenReply(statusFilter(403)), forbiddenReply(metadataFilter(extendenvoy.AccessMetadata, extendenvoy.AccessAsking,
			isTrue)))}
}

// challengeReplies tell clients what credentials are asked for. Package extend says which answers get one
// (AskedMetadata).
func challengeReplies() []*hcmv3.ResponseMapper {
	challenge := &corev3.HeaderValueOption{
		Header: &corev3.HeaderValue{
			Key: "www-authenticate", Value: "%DYNAMIC_METADATA(" + extendenvoy.AskedMetadata + ":" + extendenvoy.AskedChallenge +
				")%",
		},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
	of := func(status uint32, asked string) *hcmv3.ResponseMapper {
		return &hcmv3.ResponseMapper{
			Filter: andFilter(statusFilter(status), metadataFilter(extendenvoy.AskedMetadata, extendenvoy.AskedBy,
				stringValue(asked))),
			HeadersToAdd: []*corev3.HeaderValueOption{challenge},
		}
	}
	anyone := of(403, extendenvoy.AskedByAnyone)
	anyone.StatusCode = wrapperspb.UInt32(401)
	anyone.Body = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{
		InlineString: "The request has no credentials that are accepted here.",
	}}
	return []*hcmv3.ResponseMapper{anyone, of(401, extendenvoy.AskedByMethods)}
}

// resourceMetadataReply adds to the challenge of jwt_authn, at a server of MCP, where the metadata of the resource is:
// at the request's own host, with its path behind a well-known one (RFC 9728, section 3.1).
func resourceMetadataReply() *hcmv3.ResponseMapper {
	const url = "%REQ(X-FORWARDED-PROTO)%://%REQ(:AUTHORITY)%/.well-known/oauth-protected-resource%PATH(NQ:ORIG_OR_PATH)%"
	return &hcmv3.ResponseMapper{
		Filter: andFilter(statusFilter(401), metadataFilter(extendenvoy.ResourceMetadata, extendenvoy.ResourceOfMCP, isTrue)),
		HeadersToAdd: []*corev3.HeaderValueOption{{
			Header: &corev3.HeaderValue{
				Key: "www-authenticate", Value: `%RESP(WWW-AUTHENTICATE)%, resource_metadata="` + url + `"`,
			},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
	}
}

// featureReply writes what a feature has said of the answers of its own fault filters of status 400 (AnswerMetadata),
// in place of Envoy's text.
func featureReply() *hcmv3.ResponseMapper {
	faults := &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
		ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{Flags: []string{"FI"}},
	}}
	return &hcmv3.ResponseMapper{
		Filter: andFilter(andFilter(faults, statusFilter(400)), metadataFilter(extendenvoy.AnswerMetadata,
			extendenvoy.AnswerText, isPresent)),
		BodyFormatOverride: &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{
					InlineString: "%DYNAMIC_METADATA(" + extendenvoy.AnswerMetadata + ":" + extendenvoy.AnswerText + ")%",
				},
			}},
		},
	}
}

// forbiddenReply writes what is forbidden to an agent as an error of FormatJSON-RPC, with the id of its request.
// Clients of MCP read that; at a plain 403 some end their session. A message without an id, a notification, has no
// answer of FormatJSON-RPC.
func forbiddenReply(by *accesslogv3.AccessLogFilter) *hcmv3.ResponseMapper {
	return &hcmv3.ResponseMapper{
		Filter: andFilter(by, andFilter(metadataFilter(mcpMetadata, "is_mcp_request", isTrue), metadataFilter(mcpMetadata,
			"id", isPresent))),
		StatusCode: wrapperspb.UInt32(200),
		BodyFormatOverride: &corev3.SubstitutionFormatString{
			ContentType: "application/json",
			Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: jsonObject(map[string]*structpb.Value{
				"jsonrpc": structpb.NewStringValue("2.0"),
				"id":      structpb.NewStringValue("%DYNAMIC_METADATA(" + mcpMetadata + ":id)%"),
				"error": structpb.NewStructValue(jsonObject(map[string]*structpb.Value{
					"code":    structpb.NewNumberValue(403),
					"message": structpb.NewStringValue("Access to this tool is forbidden."),
				})),
			})},
		},
	}
}

var isPresent = &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_PresentMatch{PresentMatch: true}}

var isTrue = &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_BoolMatch{BoolMatch: true}}

func andFilter(one, other *accesslogv3.AccessLogFilter) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_AndFilter{
		AndFilter: &accesslogv3.AndFilter{Filters: []*accesslogv3.AccessLogFilter{one, other}},
	}}
}

func stringValue(text string) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: message.ExactMatcher(
		text)}}
}

func jsonObject(fields map[string]*structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: fields}
}

// statusFilter takes answers of a status.
func statusFilter(code uint32) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_StatusCodeFilter{
		StatusCodeFilter: &accesslogv3.StatusCodeFilter{Comparison: &accesslogv3.ComparisonFilter{
			Op: accesslogv3.ComparisonFilter_EQ,
			// Envoy wants a runtime key; nothing sets this one.
			Value: &corev3.RuntimeUInt32{DefaultValue: code, RuntimeKey: "none"},
		}},
	}}
}

// metadataFilter matches answers to requests for which a filter has set this metadata.
func metadataFilter(namespace, key string, value *matcherv3.ValueMatcher) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_MetadataFilter{
		MetadataFilter: &accesslogv3.MetadataFilter{
			Matcher: &matcherv3.MetadataMatcher{
				Filter: namespace, Value: value,
				Path: []*matcherv3.MetadataMatcher_PathSegment{
					{Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: key}},
				},
			},
			MatchIfKeyNotFound: wrapperspb.Bool(false),
		},
	}}
}
