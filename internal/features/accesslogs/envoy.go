package accesslogs

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	filev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	grpcv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/grpc/v3"
	otelv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/open_telemetry/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	rbacfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

func renderListener(e envoy.Listener, v Value) {
	var logs, streams []*accesslogv3.AccessLog
	for _, l := range v {
		config := l.loggerConfig(e)
		logs = append(logs, l.accessLog(config))
		if requests, is := config.(*grpcv3.HttpGrpcAccessLogConfig); is {
			config = &grpcv3.TcpGrpcAccessLogConfig{CommonConfig: requests.GetCommonConfig()}
		}
		streams = append(streams, l.accessLog(config))
		if l.When.Request != nil {
			e.HTTPFilter("log-"+l.Name, l.matchFilter())
		}
	}
	e.Connections(&hcmv3.HttpConnectionManager{AccessLog: logs})
	e.Streams(&tcpproxyv3.TcpProxy{AccessLog: streams})
}

func (l ResolvedLog) accessLog(config proto.Message) *accesslogv3.AccessLog {
	return &accesslogv3.AccessLog{
		Name: l.Name, Filter: l.logFilter(),
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: packAny(config)},
	}
}

// packAny has the fields of a map in one order, so that equal settings are equal bytes.
func packAny(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err) // a message of ours that can't be encoded
	}
	return a
}

// disableLogs leaves out Cardea's own log, too.
func disableLogs(e envoy.Listener) {
	e.Connections(new(hcmv3.HttpConnectionManager), "access_log")
	e.Streams(new(tcpproxyv3.TcpProxy), "access_log")
}

func (l ResolvedLog) loggerConfig(e envoy.Listener) proto.Message {
	switch {
	case l.OTLP:
		return l.otlpConfig(e)
	case l.Server != nil:
		return &grpcv3.HttpGrpcAccessLogConfig{CommonConfig: &grpcv3.CommonGrpcAccessLogConfig{
			LogName: cmp.Or(l.LogName, l.Name), GrpcService: l.grpcService(e), TransportApiVersion: corev3.ApiVersion_V3,
		}}
	case l.Path == stdout:
		return &streamv3.StdoutAccessLog{AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: l.lineFormat()}}
	case l.Path == stderr:
		return &streamv3.StderrAccessLog{AccessLogFormat: &streamv3.StderrAccessLog_LogFormat{LogFormat: l.lineFormat()}}
	}
	return &filev3.FileAccessLog{
		Path: l.Path, AccessLogFormat: &filev3.FileAccessLog_LogFormat{LogFormat: l.lineFormat()},
	}
}

func (l ResolvedLog) grpcService(e envoy.Listener) *corev3.GrpcService {
	return &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
		EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: e.Cluster(*l.Server)},
	}}
}

func (l ResolvedLog) lineFormat() *corev3.SubstitutionFormatString {
	if l.Text == "" {
		return envoy.AccessLogFormat(l.fieldFormats())
	}
	return &corev3.SubstitutionFormatString{
		Formatters: envoy.AccessLogFormatters(),
		Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: addPageDetails(l.Text) + "\n"},
		}},
	}
}

// fieldFormats are formats by name.
func (l ResolvedLog) fieldFormats() *structpb.Struct {
	if l.JSON == nil {
		return envoy.AccessLogJSON(map[string]string{"gateway": l.gatewayName()})
	}
	fields := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, format := range l.JSON {
		fields.Fields[name] = structpb.NewStringValue(addPageDetails(format))
	}
	return fields
}

// addPageDetails is a format that tells of a page of errorResponses why what it replaces was made.
func addPageDetails(format string) string {
	return strings.ReplaceAll(format, "%RESPONSE_CODE_DETAILS%", envoy.AccessLogDetails)
}

// gatewayName is its namespace and name.
func (l ResolvedLog) gatewayName() string { return l.Gateway[strings.LastIndex(l.Gateway, " ")+1:] }

// otlpConfig sends each request as a log record.
func (l ResolvedLog) otlpConfig(e envoy.Listener) proto.Message {
	fields := map[string]string{}
	if l.Text == "" {
		for name, format := range l.fieldFormats().GetFields() {
			if name != "attributes" { // a map, which no attribute can be
				fields[name] = format.GetStringValue()
			}
		}
	}
	resource := map[string]string{"service.name": "cardea/" + l.gatewayName()}
	maps.Copy(resource, l.Resource)
	return &otelv3.OpenTelemetryAccessLogConfig{
		GrpcService: l.grpcService(e), LogName: l.Name, DisableBuiltinLabels: true, StatPrefix: l.Name,
		Body:       anyValue(cmp.Or(addPageDetails(l.Text), "%REQ(:METHOD)% %PATH(NQ:ORIG_OR_PATH)% %RESPONSE_CODE%")),
		Attributes: keyValues(fields), ResourceAttributes: keyValues(resource),
		Formatters: envoy.AccessLogFormatters(),
	}
}

func keyValues(of map[string]string) *commonv1.KeyValueList {
	list := new(commonv1.KeyValueList)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list.Values = append(list.Values, &commonv1.KeyValue{Key: name, Value: anyValue(of[name])})
	}
	return list
}

func anyValue(s string) *commonv1.AnyValue {
	return &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: s}}
}

// matchFilter leaves in the request's metadata whether the log's match takes it, and stops none.
func (l ResolvedLog) matchFilter() proto.Message {
	return &rbacfilterv3.RBAC{ShadowRulesStatPrefix: l.statPrefix(), ShadowRules: &rbacv3.RBAC{
		Policies: map[string]*rbacv3.Policy{"match": envoy.MatchPolicy(*l.When.Request)},
	}}
}

func (l ResolvedLog) statPrefix() string { return "log_" + l.Name + "_" }

// logFilter takes the requests that the log has.
func (l ResolvedLog) logFilter() *accesslogv3.AccessLogFilter {
	all := []*accesslogv3.AccessLogFilter{envoy.AccessLogFilter()}
	if l.When.Request != nil {
		all = append(all, shadowAllowedFilter(l.statPrefix()+"shadow_engine_result"))
	}
	if len(l.When.Status) > 0 {
		var some []*accesslogv3.AccessLogFilter
		for _, s := range l.When.Status {
			low, _ := strconv.Atoi(strings.ReplaceAll(s, "x", "0"))
			high, _ := strconv.Atoi(strings.ReplaceAll(s, "x", "9"))
			some = append(some, allOf([]*accesslogv3.AccessLogFilter{
				statusFilter(accesslogv3.ComparisonFilter_GE, low), statusFilter(accesslogv3.ComparisonFilter_LE, high),
			}))
		}
		all = append(all, anyOf(some))
	}
	if l.When.Least > 0 {
		all = append(all, &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_DurationFilter{
			DurationFilter: &accesslogv3.DurationFilter{
				Comparison: compareWith(accesslogv3.ComparisonFilter_GE, int(l.When.Least.Milliseconds())),
			},
		}})
	}
	if len(l.When.Flags) > 0 {
		all = append(all, &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
			ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{Flags: l.When.Flags},
		}})
	}
	return allOf(all)
}

func allOf(all []*accesslogv3.AccessLogFilter) *accesslogv3.AccessLogFilter {
	if len(all) == 1 {
		return all[0]
	}
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_AndFilter{
		AndFilter: &accesslogv3.AndFilter{Filters: all},
	}}
}

func anyOf(some []*accesslogv3.AccessLogFilter) *accesslogv3.AccessLogFilter {
	if len(some) == 1 {
		return some[0]
	}
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_OrFilter{
		OrFilter: &accesslogv3.OrFilter{Filters: some},
	}}
}

func statusFilter(op accesslogv3.ComparisonFilter_Op, code int) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_StatusCodeFilter{
		StatusCodeFilter: &accesslogv3.StatusCodeFilter{Comparison: compareWith(op, code)},
	}}
}

func compareWith(op accesslogv3.ComparisonFilter_Op, value int) *accesslogv3.ComparisonFilter {
	return &accesslogv3.ComparisonFilter{
		Op: op, Value: &corev3.RuntimeUInt32{DefaultValue: uint32(value), RuntimeKey: "cardea.none"},
	}
}

// shadowAllowedFilter takes requests that an RBAC filter allows in shadow.
func shadowAllowedFilter(key string) *accesslogv3.AccessLogFilter {
	allowed := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "allowed"}}
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_MetadataFilter{
		MetadataFilter: &accesslogv3.MetadataFilter{
			Matcher: &matcherv3.MetadataMatcher{
				Filter: "envoy.filters.http.rbac", Path: []*matcherv3.MetadataMatcher_PathSegment{
					{Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: key}},
				},
				Value: &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: allowed}},
			},
			MatchIfKeyNotFound: wrapperspb.Bool(false),
		},
	}}
}

// checkFlags tells the first that is no flag of Envoy; "": all are.
func checkFlags(flags []string) string {
	for _, flag := range flags {
		if (&accesslogv3.ResponseFlagFilter{Flags: []string{flag}}).ValidateAll() != nil {
			return flag
		}
	}
	return ""
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Listener: renderListener, Off: disableLogs})
