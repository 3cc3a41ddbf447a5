package envoy

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// TestChecksSpeakAsRequestsDo: a check of HTTP speaks the backend's version of it, offers the same over TLS, and asks
// for the host by which the backend is known unless it states one.
func TestChecksSpeakAsRequestsDo(t *testing.T) {
	tls := &model.BackendTLS{Hostname: "tls.test"}
	for _, c := range []struct {
		stated     string
		b          model.Backend
		host, alpn string
		codec      typev3.CodecClientType
	}{
		{"", model.Backend{}, "web.shop", "", typev3.CodecClientType_HTTP1},
		{"own", model.Backend{Protocol: model.HTTP2}, "own", "", typev3.CodecClientType_HTTP2},
		{"", model.Backend{Protocol: model.HTTP2, TLS: tls}, "tls.test", "h2", typev3.CodecClientType_HTTP2},
		{"", model.Backend{Protocol: model.NegotiatedHTTP, TLS: tls}, "tls.test", "http/1.1", typev3.CodecClientType_HTTP1},
		{"", model.Backend{Hostname: "dns.test", TLS: tls}, "dns.test", "http/1.1", typev3.CodecClientType_HTTP1},
	} {
		c.b.Key = service("web")
		fields := &clusterv3.Cluster{HealthChecks: []*corev3.HealthCheck{{
			HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{
				HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{Host: c.stated},
			},
		}}}
		stated := plan.BackendFields{Fields: encodePiece(backendFields{Cluster: message.MustMarshal(fields)})}
		check := clusterWithSettings(c.b, stated).GetHealthChecks()[0]
		h, alpn := check.GetHttpHealthCheck(), ""
		if o := check.GetTlsOptions(); o != nil {
			alpn = o.GetAlpnProtocols()[0]
		}
		if h.GetHost() != c.host || h.GetCodecClientType() != c.codec || alpn != c.alpn {
			t.Errorf("%+v: host %q, codec %s, ALPN %q", c, h.GetHost(), h.GetCodecClientType(), alpn)
		}
	}
}

// TestClosed: a closed backend takes nothing, whatever limits are stated for it.
func TestClosed(t *testing.T) {
	c := clusterWithSettings(model.Backend{Key: service("web")}, plan.BackendFields{
		Fields: encodePiece(backendFields{
			Cluster: message.MustMarshal(&clusterv3.Cluster{CircuitBreakers: unlimitedCircuitBreakers()}),
		}), Closed: true,
	})
	limits := c.GetCircuitBreakers().GetThresholds()
	if len(limits) != 1 || limits[0].GetMaxRequests().GetValue() != 0 || limits[0].GetMaxRequests() == nil ||
		limits[0].GetMaxPendingRequests() == nil {
		t.Errorf("limits are %v, want none to pass", limits)
	}
}
