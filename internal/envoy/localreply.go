package envoy

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// mcpMetadata is where the filter mcp says what it read of a request.
const mcpMetadata = "envoy.filters.http.mcp"

// localReplies are how Envoy's own answers are written: what is forbidden to an agent comes as an error of JSON-RPC,
// with the id of its request. Clients of MCP read that; at a plain 403 some end their session.
func localReplies() *hcmv3.LocalReplyConfig {
	return &hcmv3.LocalReplyConfig{Mappers: []*hcmv3.ResponseMapper{{
		Filter: &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_AndFilter{
			AndFilter: &accesslogv3.AndFilter{Filters: []*accesslogv3.AccessLogFilter{ofStatus(403), ofMCP()}},
		}},
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
	}}}
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

// ofMCP takes answers to requests that the filter mcp read.
func ofMCP() *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_MetadataFilter{
		MetadataFilter: &accesslogv3.MetadataFilter{
			Matcher: &matcherv3.MetadataMatcher{
				Filter: mcpMetadata,
				Path: []*matcherv3.MetadataMatcher_PathSegment{
					{Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: "is_mcp_request"}},
				},
				Value: &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_BoolMatch{BoolMatch: true}},
			},
			MatchIfKeyNotFound: wrapperspb.Bool(false),
		},
	}}
}
