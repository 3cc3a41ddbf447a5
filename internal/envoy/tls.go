package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"cardea.dev/cardea/internal/model"
)

// terminateTLS serves with certificates that come over SDS, so that a new one drains nothing.
func terminateTLS(certificates []model.ObjectRef) *corev3.TransportSocket {
	common := &tlsv3.CommonTlsContext{
		TlsParams:     &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
		AlpnProtocols: []string{"h2", "http/1.1"},
	}
	for _, ref := range certificates {
		common.TlsCertificateSdsSecretConfigs = append(common.TlsCertificateSdsSecretConfigs, &tlsv3.SdsSecretConfig{
			Name: secretName(ref), SdsConfig: overADS(),
		})
	}
	return &corev3.TransportSocket{
		Name: "tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{
			TypedConfig: mustAny(&tlsv3.DownstreamTlsContext{CommonTlsContext: common}),
		},
	}
}
