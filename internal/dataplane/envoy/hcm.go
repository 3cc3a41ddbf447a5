package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// connectionManager is the network filter that speaks HTTP and looks requests up in a route table. A change of it
// drains connections, so it depends on names only.
func connectionManager(statPrefix, table string, stated listenerFields, logs accessLogs) *listenerv3.Filter {
	m := &hcmv3.HttpConnectionManager{
		StatPrefix: statPrefix,
		AccessLog:  logs.own,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			ConfigSource:    message.ADSConfigSource(),
			RouteConfigName: table,
		}},
		HttpFilters:      route.Filters(),
		LocalReplyConfig: localReplies(),

		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(message.ConnectionIdleTimeout)},
		Http2ProtocolOptions:      message.HTTP2Server(),
		UpgradeConfigs:            []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}},
		StreamIdleTimeout:         durationpb.New(0),
		RequestTimeout:            durationpb.New(0),
		RequestHeadersTimeout:     durationpb.New(message.HeadersTimeout),

		// A backend may read %2F, a backslash and // as a slash; what a rule protects is protected in all spellings.
		NormalizePath:                wrapperspb.Bool(true),
		MergeSlashes:                 true,
		PathWithEscapedSlashesAction: hcmv3.HttpConnectionManager_UNESCAPE_AND_REDIRECT,

		UseRemoteAddress:           wrapperspb.Bool(true),
		ServerHeaderTransformation: hcmv3.HttpConnectionManager_PASS_THROUGH,
		// The scheme that a backend gets is that of its own connection. X-Forwarded-Proto has the client's.
		SchemeHeaderTransformation: &corev3.SchemeHeaderTransformation{MatchUpstream: true},
	}
	overlayManager(m, stated)
	m.AccessLog = append(m.AccessLog, logs.count...)
	return managerFilter(m)
}

func managerFilter(m *hcmv3.HttpConnectionManager) *listenerv3.Filter {
	return &listenerv3.Filter{
		Name:       "http",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: message.MustAny(m)},
	}
}
