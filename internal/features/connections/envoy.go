package connections

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	connectionlimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/connection_limit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

func renderListener(e envoy.Listener, v Value) {
	if v.Max != nil {
		e.NetworkFilter("connection_limit", &connectionlimitv3.ConnectionLimit{
			StatPrefix: "clients", MaxConnections: wrapperspb.UInt64(uint64(*v.Max)), Delay: protoDuration(v.CloseDelay),
		})
	}
	e.Streams(&tcpproxyv3.TcpProxy{MaxDownstreamConnectionDuration: protoDuration(v.Duration)})
	if v.Duration == nil && v.Streams == nil && v.MaxRequests == nil {
		return
	}
	options := &corev3.HttpProtocolOptions{MaxConnectionDuration: protoDuration(v.Duration),
		MaxStreamDuration: protoDuration(v.Streams)}
	if v.MaxRequests != nil {
		options.MaxRequestsPerConnection = wrapperspb.UInt32(*v.MaxRequests)
	}
	e.Connections(&hcmv3.HttpConnectionManager{CommonHttpProtocolOptions: options})
}

func protoDuration(d *time.Duration) *durationpb.Duration {
	if d == nil {
		return nil
	}
	return durationpb.New(*d)
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Listener: renderListener})
