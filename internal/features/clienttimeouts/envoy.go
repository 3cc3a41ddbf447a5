package clienttimeouts

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	udpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"cardea.dev/cardea/extend/envoy"
)

func renderListener(e envoy.Listener, v Value) {
	m := &hcmv3.HttpConnectionManager{
		RequestHeadersTimeout: protoDuration(v.RequestHeaders), RequestTimeout: protoDuration(v.Request),
		StreamIdleTimeout: protoDuration(v.StreamIdle),
	}
	if v.Idle != nil {
		m.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{IdleTimeout: protoDuration(v.Idle)}
	}
	e.Connections(m)
	e.Streams(&tcpproxyv3.TcpProxy{IdleTimeout: protoDuration(v.Idle)})
	e.Sessions(&udpproxyv3.UdpProxyConfig{IdleTimeout: protoDuration(v.Idle)})
	e.Listener(&listenerv3.Listener{ListenerFiltersTimeout: protoDuration(v.Inspection)})
}

func protoDuration(d *time.Duration) *durationpb.Duration {
	if d == nil {
		return nil
	}
	return durationpb.New(*d)
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Listener: renderListener})
