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
	"cardea.dev/cardea/extend/envoy"
)

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Listener: renderListener})

// protoVersions are the versions as Envoy has them.
var protoVersions = map[Version]tlsv3.TlsParameters_TlsProtocol{
	"1.0": tlsv3.TlsParameters_TLSv1_0, "1.1": tlsv3.TlsParameters_TLSv1_1, "1.2": tlsv3.TlsParameters_TLSv1_2,
	"1.3": tlsv3.TlsParameters_TLSv1_3,
}

func renderListener(e envoy.Listener, v Value) {
	context := &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsParams: &tlsv3.TlsParameters{
			TlsMinimumProtocolVersion: protoVersions[v.Min], TlsMaximumProtocolVersion: protoVersions[v.Max],
			CipherSuites: toStrings(v.Suites), EcdhCurves: toStrings(v.Curves), SignatureAlgorithms: toStrings(v.Signatures),
		},
		AlpnProtocols: toStrings(v.ALPN),
	}}
	if v.NoTickets {
		context.SessionTicketKeysType = &tlsv3.DownstreamTlsContext_DisableStatelessSessionResumption{
			DisableStatelessSessionResumption: true,
		}
	}
	if v.Clients != nil {
		context.RequireClientCertificate = wrapperspb.Bool(v.Clients.Mode.requiresCertificate())
		v.Clients.renderValidation(e)
	}
	e.TLS(context)
	if v.Handshake != nil {
		e.Chain(&listenerv3.FilterChain{TransportSocketConnectTimeout: envoy.ProtoDuration(v.Handshake)})
	}
	if len(v.Fingerprints) > 0 {
		e.TLSInspector(&tlsinspectorv3.TlsInspector{
			EnableJa3Fingerprinting: wrapperspb.Bool(slices.Contains(v.Fingerprints, JA3)),
			EnableJa4Fingerprinting: wrapperspb.Bool(slices.Contains(v.Fingerprints, JA4)),
		})
	}
}

func (c Clients) renderValidation(e envoy.Listener) {
	context := &tlsv3.CertificateValidationContext{
		MatchTypedSubjectAltNames: nameMatchers(c.Names), AllowExpiredCertificate: c.AllowExpired,
		VerifyCertificateSpki: c.SPKI, OnlyVerifyLeafCertCrl: c.OnlyLeaf,
	}
	for _, hash := range c.Hashes {
		context.VerifyCertificateHash = append(context.VerifyCertificateHash, strings.ToLower(hash))
	}
	if c.CA != "" {
		context.TrustedCa = inlineSource(c.CA)
	}
	if c.CRL != "" {
		context.Crl = inlineSource(c.CRL)
	}
	if c.Mode.verifiesCertificate() {
		e.Clients(context, "trust_chain_verification") // the Gateway may have another one
		return
	}
	context.TrustChainVerification = tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED
	e.Clients(context)
}

func inlineSource(text string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
}

// statedName is the one name that is stated; n is how many are.
func (n SubjectAltName) statedName() (kind tlsv3.SubjectAltNameMatcher_SanType, value string, stated int) {
	for _, one := range []struct {
		kind  tlsv3.SubjectAltNameMatcher_SanType
		value string
	}{
		{tlsv3.SubjectAltNameMatcher_URI, n.URI}, {tlsv3.SubjectAltNameMatcher_DNS, n.DNS},
		{tlsv3.SubjectAltNameMatcher_EMAIL, n.Email}, {tlsv3.SubjectAltNameMatcher_IP_ADDRESS, n.IP},
	} {
		if one.value != "" {
			kind, value, stated = one.kind, one.value, stated+1
		}
	}
	return kind, value, stated
}

func (n SubjectAltName) nameMatcher() *tlsv3.SubjectAltNameMatcher {
	kind, value, _ := n.statedName()
	return &tlsv3.SubjectAltNameMatcher{
		SanType: kind, Matcher: envoy.Text(extend.StringMatch{Type: n.Type, Value: value}),
	}
}

func nameMatchers(names []SubjectAltName) (list []*tlsv3.SubjectAltNameMatcher) {
	for _, n := range names {
		list = append(list, n.nameMatcher())
	}
	return list
}

func toStrings[T ~string](list []T) (all []string) {
	for _, one := range list {
		all = append(all, string(one))
	}
	return all
}
