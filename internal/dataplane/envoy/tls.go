package envoy

import (
	"crypto/sha256"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// terminateTLS serves with certificates that come over SDS, so that a new one drains nothing. The authorities of
// clients' certificates come so, too. Envoy does not look at the certificate again when a session is resumed; so no
// session is resumed where clients are asked for one.
func terminateTLS(l model.Listener, stated plan.ListenerFields) *corev3.TransportSocket {
	common := &tlsv3.CommonTlsContext{
		TlsParams:     &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
		AlpnProtocols: []string{"h2", "http/1.1"},
	}
	for _, ref := range l.Certificates {
		common.TlsCertificateSdsSecretConfigs = append(common.TlsCertificateSdsSecretConfigs, &tlsv3.SdsSecretConfig{
			Name: secretName(ref), SdsConfig: overADS(),
		})
	}
	context := &tlsv3.DownstreamTlsContext{CommonTlsContext: common}
	if asksClients(l, stated) {
		context.RequireClientCertificate = wrapperspb.Bool(l.Clients != nil && !l.Clients.Optional)
		context.DisableStatefulSessionResumption = true
		context.SessionTicketKeysType = &tlsv3.DownstreamTlsContext_DisableStatelessSessionResumption{
			DisableStatelessSessionResumption: true,
		}
		common.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{
			ValidationContextSdsSecretConfig: &tlsv3.SdsSecretConfig{
				Name: clientsName(l, stated), SdsConfig: overADS(),
			},
		}
	}
	overlayTLS(context, stated)
	return &corev3.TransportSocket{
		Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: mustAny(context)},
	}
}

// asksClients tells whether clients are asked for certificates: by the Gateway, or by policies.
func asksClients(l model.Listener, stated plan.ListenerFields) bool {
	return l.Protocol == model.HTTPS && (l.Clients != nil || stated.AsksClients())
}

// judgeClients is how clients' certificates are judged: as the Gateway says, and what policies put in its place.
func judgeClients(l model.Listener, stated plan.ListenerFields) *tlsv3.CertificateValidationContext {
	context := new(tlsv3.CertificateValidationContext)
	if l.Clients != nil {
		context.TrustedCa = inlineText(l.Clients.CA)
		if l.Clients.Optional {
			context.TrustChainVerification = tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED
		}
	}
	overlayFields(context, new(tlsv3.CertificateValidationContext), stated.Clients)
	clearFields(context, stated.ClientsZero)
	return context
}

// noCertificate is the hash of no certificate: whoever trusts it alone trusts nobody.
var noCertificate = strings.Repeat("0", 2*sha256.Size)

// systemCA is where the proxy's machine keeps the authorities that it trusts: Debian's and Envoy's own image have it
// there.
const systemCA = "/etc/ssl/certs/ca-certificates.crt"

// originateTLS speaks TLS to a backend, and judges its certificate; nil for plaintext.
func originateTLS(t *model.BackendTLS, p model.BackendProtocol) *corev3.TransportSocket {
	if t == nil {
		return nil
	}
	common := &tlsv3.CommonTlsContext{
		TlsParams:             &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: judgeBackend(*t)},
	}
	if shown(t) {
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

// judgeBackend is how a backend's certificate is judged.
func judgeBackend(t model.BackendTLS) *tlsv3.CertificateValidationContext {
	if t.Closed != "" {
		return &tlsv3.CertificateValidationContext{VerifyCertificateHash: []string{noCertificate}}
	}
	if t.Unverified {
		return &tlsv3.CertificateValidationContext{
			TrustChainVerification: tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED,
		}
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
	return validation
}

// shown tells whether a backend is shown a certificate.
func shown(t *model.BackendTLS) bool {
	return t != nil && t.Closed == "" && t.Certificate != (model.ObjectRef{})
}
