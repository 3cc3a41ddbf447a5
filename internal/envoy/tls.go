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

// systemCA is where the proxy's machine keeps the authorities that it trusts: Debian's and Envoy's own image have it
// there.
const systemCA = "/etc/ssl/certs/ca-certificates.crt"

// originateTLS speaks TLS to a backend, and judges its certificate; nil for plaintext.
func originateTLS(t *model.BackendTLS, p model.BackendProtocol) *corev3.TransportSocket {
	if t == nil {
		return nil
	}
	validation := &tlsv3.CertificateValidationContext{
		TrustedCa: &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: systemCA}},
	}
	if t.CA != "" {
		validation.TrustedCa = inlineText(t.CA)
	}
	names := t.Names
	if len(names) == 0 {
		names = []model.SubjectAltName{{Value: t.Hostname}}
	}
	for _, n := range names {
		match := &tlsv3.SubjectAltNameMatcher{SanType: tlsv3.SubjectAltNameMatcher_DNS, Matcher: exactly(n.Value)}
		if n.URI {
			match.SanType = tlsv3.SubjectAltNameMatcher_URI
		}
		validation.MatchTypedSubjectAltNames = append(validation.MatchTypedSubjectAltNames, match)
	}
	common := &tlsv3.CommonTlsContext{
		TlsParams:             &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: validation},
	}
	if t.Certificate != (model.ObjectRef{}) {
		common.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{{Name: clientSecretName(t.Certificate),
			SdsConfig: overADS()}}
	}
	switch p {
	case model.HTTP2:
		common.AlpnProtocols = []string{"h2"}
	case model.NegotiatedHTTP:
		common.AlpnProtocols = []string{"h2", "http/1.1"}
	default:
		common.AlpnProtocols = []string{"http/1.1"}
	}
	return &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{
		TypedConfig: mustAny(&tlsv3.UpstreamTlsContext{Sni: t.Hostname, CommonTlsContext: common}),
	}}
}
