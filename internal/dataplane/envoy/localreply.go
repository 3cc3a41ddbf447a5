package envoy

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
)

// mcpMetadata is where the filter mcp says what it read of a request.
const mcpMetadata = "envoy.filters.http.mcp"

// localReplies are how Envoy's own answers are written. The first mapper that takes an answer counts.
func localReplies() *hcmv3.LocalReplyConfig {
	return &hcmv3.LocalReplyConfig{Mappers: append(challenges(), resourceMetadata(), told(),
		forbidden(ofStatus(403)), forbidden(ofMetadata(extend.AccessMetadata, extend.AccessAsking, isTrue)))}
}

// challenges tell clients what credentials are asked for. Package extend says which answers get one (AskedMetadata).
func challenges() []*hcmv3.ResponseMapper {
	challenge := &corev3.HeaderValueOption{
		Header: &corev3.HeaderValue{
			Key: "www-authenticate", Value: "%DYNAMIC_METADATA(" + extend.AskedMetadata + ":" + extend.AskedChallenge + ")%",
		},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
	of := func(status uint32, asked string) *hcmv3.ResponseMapper {
		return &hcmv3.ResponseMapper{
			Filter:       both(ofStatus(status), ofMetadata(extend.AskedMetadata, extend.AskedBy, stringValue(asked))),
			HeadersToAdd: []*corev3.HeaderValueOption{challenge},
		}
	}
	anyone := of(403, extend.AskedByAnyone)
	anyone.StatusCode = wrapperspb.UInt32(401)
	anyone.Body = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{
		InlineString: "The request has no credentials that are accepted here.",
	}}
	return []*hcmv3.ResponseMapper{anyone, of(401, extend.AskedByMethods)}
}

// resourceMetadata adds to the challenge of jwt_authn, at a server of MCP, where the metadata of the resource is: at
// the request's own host, with its path behind a well-known one (RFC 9728, section 3.1).
func resourceMetadata() *hcmv3.ResponseMapper {
	const url = "%REQ(X-FORWARDED-PROTO)%://%REQ(:AUTHORITY)%/.well-known/oauth-protected-resource%PATH(NQ:ORIG_OR_PATH)%"
	return &hcmv3.ResponseMapper{
		Filter: both(ofStatus(401), ofMetadata(extend.ResourceMetadata, extend.ResourceOfMCP, isTrue)),
		HeadersToAdd: []*corev3.HeaderValueOption{{
			Header: &corev3.HeaderValue{
				Key: "www-authenticate", Value: `%RESP(WWW-AUTHENTICATE)%, resource_metadata="` + url + `"`,
			},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
	}
}

// told writes what a feature has said of the answers of its own fault filters of status 400 (AnswerMetadata), in place
// of Envoy's text.
func told() *hcmv3.ResponseMapper {
	faults := &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
		ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{Flags: []string{"FI"}},
	}}
	return &hcmv3.ResponseMapper{
		Filter: both(both(faults, ofStatus(400)), ofMetadata(extend.AnswerMetadata, extend.AnswerText, some)),
		BodyFormatOverride: &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{
					InlineString: "%DYNAMIC_METADATA(" + extend.AnswerMetadata + ":" + extend.AnswerText + ")%",
				},
			}},
		},
	}
}

// forbidden writes what is forbidden to an agent as an error of JSON-RPC, with the id of its request. Clients of MCP
// read that; at a plain 403 some end their session. A message without an id, a notification, has no answer of JSON-RPC.
func forbidden(by *accesslogv3.AccessLogFilter) *hcmv3.ResponseMapper {
	return &hcmv3.ResponseMapper{
		Filter:     both(by, both(ofMetadata(mcpMetadata, "is_mcp_request", isTrue), ofMetadata(mcpMetadata, "id", some))),
		StatusCode: wrapperspb.UInt32(200),
		BodyFormatOverride: &corev3.SubstitutionFormatString{
			ContentType: "application/json",
			Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: object(map[string]*structpb.Value{
				"jsonrpc": structpb.NewStringValue("2.0"),
				"id":      structpb.NewStringValue("%DYNAMIC_METADATA(" + mcpMetadata + ":id)%"),
				"error": structpb.NewStructValue(object(map[string]*structpb.Value{
					"code":    structpb.NewNumberValue(403),
					"message": structpb.NewStringValue("Access to this tool is forbidden."),
				})),
			})},
		},
	}
}

var some = &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_PresentMatch{PresentMatch: true}}

var isTrue = &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_BoolMatch{BoolMatch: true}}

func both(one, other *accesslogv3.AccessLogFilter) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_AndFilter{
		AndFilter: &accesslogv3.AndFilter{Filters: []*accesslogv3.AccessLogFilter{one, other}},
	}}
}

func stringValue(text string) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: exactly(text)}}
}

func object(fields map[string]*structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: fields}
}

// ofStatus takes answers of a status.
func ofStatus(code uint32) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_StatusCodeFilter{
		StatusCodeFilter: &accesslogv3.StatusCodeFilter{Comparison: &accesslogv3.ComparisonFilter{
			Op: accesslogv3.ComparisonFilter_EQ,
			// Envoy wants a runtime key; nothing sets this one.
			Value: &corev3.RuntimeUInt32{DefaultValue: code, RuntimeKey: "none"},
		}},
	}}
}

// ofMetadata matches answers to requests for which a filter has set this metadata.
func ofMetadata(namespace, key string, value *matcherv3.ValueMatcher) *accesslogv3.AccessLogFilter {
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
