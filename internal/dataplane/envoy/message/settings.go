package message

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Settings that stand in every configuration from the start; docs/adr/0003-envoy-settings.md gives the reasons.
const (
	ConnectTimeout        = 5 * time.Second
	ConnectionBufferBytes = 32 << 10
	ConnectionIdleTimeout = time.Hour
	SessionIdleTimeout    = time.Minute // of UDP
	HeadersTimeout        = 10 * time.Second
	h2Streams             = 100
	h2StreamWindow        = 64 << 10
	h2ConnectionWindow    = 1 << 20
	MaxConnections        = 50_000
	Unlimited             = 1<<32 - 1
	RetryPercent          = 20 // of the requests that are under way at a backend
	MinRetries            = 10 // that may be under way at a backend anyhow
	HandshakeTimeout      = 10 * time.Second
	h2PingInterval        = time.Minute
	h2PingTimeout         = 20 * time.Second
)

// A peer that is gone without a word is noticed by the kernel, after KeepaliveIdle and then keepaliveProbes times
// KeepaliveInterval.
const (
	KeepaliveIdle     = 60 * time.Second
	KeepaliveInterval = 10 * time.Second
	keepaliveProbes   = 3
)

// TCPKeepalive has the kernel ask whether a silent peer is still there.
func TCPKeepalive(idle, interval time.Duration) *corev3.TcpKeepalive {
	return &corev3.TcpKeepalive{
		KeepaliveTime:     wrapperspb.UInt32(uint32(idle / time.Second)),
		KeepaliveInterval: wrapperspb.UInt32(uint32(interval / time.Second)),
		KeepaliveProbes:   wrapperspb.UInt32(keepaliveProbes),
	}
}

// ADSConfigSource is where Envoy gets what a resource names: from the stream that brought the resource.
func ADSConfigSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		ResourceApiVersion:    corev3.ApiVersion_V3,
	}
}

func http2Options() *corev3.Http2ProtocolOptions {
	return &corev3.Http2ProtocolOptions{
		MaxConcurrentStreams:        wrapperspb.UInt32(h2Streams),
		InitialStreamWindowSize:     wrapperspb.UInt32(h2StreamWindow),
		InitialConnectionWindowSize: wrapperspb.UInt32(h2ConnectionWindow),
		AllowConnect:                true, // WebSockets over HTTP/2 (RFC 8441)
	}
}

// HTTP2Server is towards clients. Pings find those that are gone behind something that keeps TCP alive in their place.
func HTTP2Server() *corev3.Http2ProtocolOptions {
	o := http2Options()
	o.ConnectionKeepalive = &corev3.KeepaliveSettings{Interval: durationpb.New(h2PingInterval),
		Timeout: durationpb.New(h2PingTimeout)}
	return o
}

// http2Client has the options towards backends. gRPC servers close the connection of a client that sends pings often,
// so a ping is sent only ahead of a request on a connection that was silent for a while: the request does not wait for
// ever.
func http2Client() *corev3.Http2ProtocolOptions {
	o := http2Options()
	o.ConnectionKeepalive = &corev3.KeepaliveSettings{
		ConnectionIdleInterval: durationpb.New(h2PingInterval), Timeout: durationpb.New(h2PingTimeout),
	}
	return o
}
