package connection

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"cardea.dev/cardea/extend/envoy"
)

func renderBackend(e envoy.Backend, v Value) {
	c := &clusterv3.Cluster{
		ConnectTimeout:                envoy.ProtoDuration(v.ConnectTimeout),
		PerConnectionBufferLimitBytes: envoy.ProtoNumber(v.BufferLimit),
	}
	if v.KeepaliveIdle != nil || v.KeepaliveInterval != nil || v.Probes != nil {
		c.UpstreamConnectionOptions = &clusterv3.UpstreamConnectionOptions{TcpKeepalive: &corev3.TcpKeepalive{
			KeepaliveTime: envoy.ProtoNumber(v.KeepaliveIdle), KeepaliveInterval: envoy.ProtoNumber(v.KeepaliveInterval),
			KeepaliveProbes: envoy.ProtoNumber(v.Probes),
		}}
	}
	e.Cluster(c)
	if v.Idle != nil || v.MaxDuration != nil || v.MaxRequests != nil {
		e.HTTP(&upstreamv3.HttpProtocolOptions{CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{
			IdleTimeout: envoy.ProtoDuration(v.Idle), MaxConnectionDuration: envoy.ProtoDuration(v.MaxDuration),
			MaxRequestsPerConnection: envoy.ProtoNumber(v.MaxRequests),
		}})
	}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Backend: renderBackend})
