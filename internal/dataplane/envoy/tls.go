package envoy

import (
	"crypto/sha256"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
)

// terminateTLS serves with certificates that come over SDS, so that a new one drains nothing. The authorities of
// clients' certificates come so, too. Envoy does not look at the certificate again when a session is resumed; so no
// session is resumed where clients are asked for one.
func terminateTLS(l model.Listener, stated listenerFields) *corev3.TransportSocket {
	common := &tlsv3.CommonTlsContext{
		TlsParams:     &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
		AlpnProtocols: []string{"h2", "http/1.1"},
	}
	for _, ref := range l.Certificates {
		common.TlsCertificateSdsSecretConfigs = append(common.TlsCertificateSdsSecretConfigs, &tlsv3.SdsSecretConfig{
			Name: naming.Secret(ref), SdsConfig: message.ADSConfigSource(),
		})
	}
	if l.Protocol.Carries(l.TLS) != "" {
		common.AlpnProtocols = nil // what is spoken over TLS, client and backend know
	}
	context := &tlsv3.DownstreamTlsContext{CommonTlsContext: common}
	if asksClientCertificates(l, stated) {
		context.RequireClientCertificate = wrapperspb.Bool(l.Clients != nil && !l.Clients.Optional)
		context.DisableStatefulSessionResumption = true
		context.SessionTicketKeysType = &tlsv3.DownstreamTlsContext_DisableStatelessSessionResumption{
			DisableStatelessSessionResumption: true,
		}
		common.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{
			ValidationContextSdsSecretConfig: &tlsv3.SdsSecretConfig{
				Name: clientValidationName(l, stated), SdsConfig: message.ADSConfigSource(),
			},
		}
	}
	overlayTLS(context, stated)
	return &corev3.TransportSocket{
		Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: message.MustAny(context)},
	}
}

// asksClientCertificates tells whether clients are asked for certificates: by the Gateway, or by policies.
func asksClientCertificates(l model.Listener, stated listenerFields) bool {
	return l.TLS == model.TLSTerminate && (l.Clients != nil || stated.AsksClients)
}

// clientValidationContext is how clients' certificates are judged: as the Gateway says, and what policies put in its
// place.
func clientValidationContext(l model.Listener, stated listenerFields) *tlsv3.CertificateValidationContext {
	context := new(tlsv3.CertificateValidationContext)
	if l.Clients != nil {
		context.TrustedCa = message.InlineText(l.Clients.CA)
		if l.Clients.Optional {
			context.TrustChainVerification = tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED
		}
	}
	overlayFields(context, new(tlsv3.CertificateValidationContext), stated.chain.Clients)
	clearFields(context, stated.chain.ClientsZero)
	return context
}

// noCertificate is the hash of no certificate: whoever trusts it alone trusts nobody.
var noCertificate = strings.Repeat("0", 2*sha256.Size)

// systemCA is where the proxy's machine keeps the authorities that it trusts: Debian's and Envoy's own image have it
// there.
const systemCA = "/etc/ssl/certs/ca-certificates.crt"

// originateTLS speaks TLS to a backend, and judges its certificate; nil for plaintext.
func originateTLS(b model.Backend) *corev3.TransportSocket {
	t := b.TLS
	if t == nil {
		return nil
	}
	common := &tlsv3.CommonTlsContext{
		TlsParams:             &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: backendValidationContext(*t)},
	}
	if hasClientCertificate(t) {
		common.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{{Name: naming.ClientSecret(t.Certificate),
			SdsConfig: message.ADSConfigSource()}}
	}
	switch p := b.Protocol; {
	case b.Key.Carries != "": // what is spoken over TLS, client and backend know
	case p == model.HTTP2:
		common.AlpnProtocols = []string{"h2"}
	case p == model.NegotiatedHTTP:
		common.AlpnProtocols = []string{"h2", "http/1.1"}
	default:
		common.AlpnProtocols = []string{"http/1.1"}
	}
	return &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{
		TypedConfig: message.MustAny(&tlsv3.UpstreamTlsContext{Sni: t.Hostname, CommonTlsContext: common}),
	}}
}

// backendValidationContext is how a backend's certificate is judged.
func backendValidationContext(t model.BackendTLS) *tlsv3.CertificateValidationContext {
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
		validation.TrustedCa = message.InlineText(t.CA)
	}
	names := t.Names
	if len(names) == 0 {
		names = []model.SubjectAltName{{Value: t.Hostname}}
	}
	for _, n := range names {
		match := &tlsv3.SubjectAltNameMatcher{SanType: tlsv3.SubjectAltNameMatcher_DNS,
			Matcher: message.ExactMatcher(n.Value)}
		if n.URI {
			match.SanType = tlsv3.SubjectAltNameMatcher_URI
		}
		validation.MatchTypedSubjectAltNames = append(validation.MatchTypedSubjectAltNames, match)
	}
	return validation
}

// hasClientCertificate tells whether a backend is shown a certificate.
func hasClientCertificate(t *model.BackendTLS) bool {
	return t != nil && t.Closed == "" && t.Certificate != (model.ObjectRef{})
}
