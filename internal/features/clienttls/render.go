package clienttls

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
)

func render(e extend.EnvoyListener, v Value) {
	context := &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsParams: &tlsv3.TlsParameters{
			TlsMinimumProtocolVersion: protos[v.Min], TlsMaximumProtocolVersion: protos[v.Max],
			CipherSuites: texts(v.Suites), EcdhCurves: texts(v.Curves), SignatureAlgorithms: texts(v.Signatures),
		},
		AlpnProtocols: texts(v.ALPN),
	}}
	if v.NoTickets {
		context.SessionTicketKeysType = &tlsv3.DownstreamTlsContext_DisableStatelessSessionResumption{
			DisableStatelessSessionResumption: true,
		}
	}
	if v.Clients != nil {
		context.RequireClientCertificate = wrapperspb.Bool(v.Clients.Mode.requires())
		v.Clients.render(e)
	}
	e.TLS(context)
	if v.Handshake != nil {
		e.Chain(&listenerv3.FilterChain{TransportSocketConnectTimeout: extend.ProtoDuration(v.Handshake)})
	}
	if len(v.Fingerprints) > 0 {
		e.TLSInspector(&tlsinspectorv3.TlsInspector{
			EnableJa3Fingerprinting: wrapperspb.Bool(slices.Contains(v.Fingerprints, JA3)),
			EnableJa4Fingerprinting: wrapperspb.Bool(slices.Contains(v.Fingerprints, JA4)),
		})
	}
}

func (c Clients) render(e extend.EnvoyListener) {
	context := &tlsv3.CertificateValidationContext{
		MatchTypedSubjectAltNames: matchers(c.Names), AllowExpiredCertificate: c.AllowExpired,
		VerifyCertificateSpki: c.SPKI, OnlyVerifyLeafCertCrl: c.OnlyLeaf,
	}
	for _, hash := range c.Hashes {
		context.VerifyCertificateHash = append(context.VerifyCertificateHash, strings.ToLower(hash))
	}
	if c.CA != "" {
		context.TrustedCa = inline(c.CA)
	}
	if c.CRL != "" {
		context.Crl = inline(c.CRL)
	}
	if c.Mode.verifies() {
		e.Clients(context, "trust_chain_verification") // the Gateway may have another one
		return
	}
	context.TrustChainVerification = tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED
	e.Clients(context)
}

func inline(text string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
}

func texts[T ~string](list []T) (all []string) {
	for _, one := range list {
		all = append(all, string(one))
	}
	return all
}
