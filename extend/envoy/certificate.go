package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	mtlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/principals/mtls_authenticated/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/extend"
)

// CertificatePrincipal compares a name of a client's valid certificate. RBAC's `authenticated` takes names of any kind,
// also of certificates that are not valid where a listener lets them pass: so it is used for subjects only, and never
// alone.
func CertificatePrincipal(c extend.CertificateMatch) *rbacv3.Principal {
	if c.Subject != "" {
		name := &rbacv3.Principal_Authenticated{PrincipalName: text(extend.Exact, c.Subject, false)}
		return AllOf([]*rbacv3.Principal{
			validCertificate(&mtlsv3.Config{AnyValidatedClientCertificate: true}),
			{Identifier: &rbacv3.Principal_Authenticated_{Authenticated: name}},
		})
	}
	san := &tlsv3.SubjectAltNameMatcher{
		SanType: tlsv3.SubjectAltNameMatcher_URI, Matcher: text(extend.MatchType(c.Type), c.URI, false),
	}
	if c.DNS != "" {
		san = &tlsv3.SubjectAltNameMatcher{
			SanType: tlsv3.SubjectAltNameMatcher_DNS, Matcher: text(extend.MatchType(c.Type), c.DNS, true),
		}
	}
	return validCertificate(&mtlsv3.Config{SanMatcher: san})
}

func validCertificate(config *mtlsv3.Config) *rbacv3.Principal {
	packed, err := anypb.New(config)
	if err != nil {
		return nobody()
	}
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_Custom{Custom: &corev3.TypedExtensionConfig{
		Name: "envoy.rbac.principals.mtls_authenticated", TypedConfig: packed,
	}}}
}
