package clienttls

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// Version is a version of TLS.
// +kubebuilder:validation:Enum="1.0";"1.1";"1.2";"1.3"
type Version string

// versions are all, the oldest first.
var versions = []Version{"1.0", "1.1", "1.2", "1.3"}

// CipherSuite is a cipher suite of TLS up to version 1.2, by OpenSSL's name.
// +kubebuilder:validation:Enum=ECDHE-ECDSA-AES128-GCM-SHA256;ECDHE-RSA-AES128-GCM-SHA256;ECDHE-ECDSA-AES256-GCM-SHA384;ECDHE-RSA-AES256-GCM-SHA384;ECDHE-ECDSA-CHACHA20-POLY1305;ECDHE-RSA-CHACHA20-POLY1305;ECDHE-ECDSA-AES128-SHA256;ECDHE-RSA-AES128-SHA256;ECDHE-ECDSA-AES128-SHA;ECDHE-RSA-AES128-SHA;ECDHE-ECDSA-AES256-SHA;ECDHE-RSA-AES256-SHA;AES128-GCM-SHA256;AES256-GCM-SHA384;AES128-SHA;AES256-SHA
type CipherSuite string

var suites = splitNames[CipherSuite](`ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-RSA-AES128-GCM-SHA256
	ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-GCM-SHA384 ECDHE-ECDSA-CHACHA20-POLY1305 ECDHE-RSA-CHACHA20-POLY1305
	ECDHE-ECDSA-AES128-SHA256 ECDHE-RSA-AES128-SHA256 ECDHE-ECDSA-AES128-SHA ECDHE-RSA-AES128-SHA ECDHE-ECDSA-AES256-SHA
	ECDHE-RSA-AES256-SHA AES128-GCM-SHA256 AES256-GCM-SHA384 AES128-SHA AES256-SHA`)

// isLegacySuite are the suites that TLS before version 1.2 has.
func isLegacySuite(s CipherSuite) bool { return strings.HasSuffix(string(s), "-SHA") }

// Curve is a group in which keys are exchanged.
// +kubebuilder:validation:Enum=X25519MLKEM768;X25519;P-256;P-384;P-521
type Curve string

var curves = splitNames[Curve]("X25519MLKEM768 X25519 P-256 P-384 P-521")

// SignatureAlgorithm is how something is signed.
// +kubebuilder:validation:Enum=ecdsa_secp256r1_sha256;ecdsa_secp384r1_sha384;ecdsa_secp521r1_sha512;rsa_pss_rsae_sha256;rsa_pss_rsae_sha384;rsa_pss_rsae_sha512;rsa_pkcs1_sha256;rsa_pkcs1_sha384;rsa_pkcs1_sha512;rsa_pkcs1_sha1;ecdsa_sha1;ed25519
type SignatureAlgorithm string

var signatures = splitNames[SignatureAlgorithm](`ecdsa_secp256r1_sha256 ecdsa_secp384r1_sha384 ecdsa_secp521r1_sha512
	rsa_pss_rsae_sha256 rsa_pss_rsae_sha384 rsa_pss_rsae_sha512 rsa_pkcs1_sha256 rsa_pkcs1_sha384 rsa_pkcs1_sha512
	rsa_pkcs1_sha1 ecdsa_sha1 ed25519`)

// Protocol is what is spoken over TLS.
// +kubebuilder:validation:Enum=h2;http/1.1
type Protocol string

var protocols = splitNames[Protocol]("h2 http/1.1")

// Fingerprint is a hash of the client's first message.
// +kubebuilder:validation:Enum=JA3;JA4
type Fingerprint string

// The fingerprints.
const (
	JA3 Fingerprint = "JA3"
	JA4 Fingerprint = "JA4"
)

var fingerprints = []Fingerprint{JA3, JA4}

// ValidationMode says what becomes of connections without a valid certificate.
// +kubebuilder:validation:Enum=RequireAndVerify;VerifyIfGiven;RequireAny;Request
type ValidationMode string

// The modes.
const (
	RequireAndVerify ValidationMode = "RequireAndVerify" // they are refused
	VerifyIfGiven    ValidationMode = "VerifyIfGiven"    // they are taken if they show none
	RequireAny       ValidationMode = "RequireAny"       // they are taken if they show any
	Request          ValidationMode = "Request"          // they are taken
)

var modes = []ValidationMode{RequireAndVerify, VerifyIfGiven, RequireAny, Request}

// verifiesCertificate tells whether a certificate that is shown has to be valid.
func (m ValidationMode) verifiesCertificate() bool {
	return m == RequireAndVerify || m == VerifyIfGiven
}

// requiresCertificate tells whether there has to be one.
func (m ValidationMode) requiresCertificate() bool { return m == RequireAndVerify || m == RequireAny }

func splitNames[T ~string](text string) (list []T) {
	for _, name := range strings.Fields(text) {
		list = append(list, T(name))
	}
	return list
}

// checkNames reads a list of names: each is known, and stands there once. Envoy refuses others.
func checkNames[T ~string](r extend.Reader, field string, list, known []T) []T {
	for i, name := range list {
		at := r.Field(fmt.Sprintf("%s[%d]", field, i))
		switch {
		case !slices.Contains(known, name):
			at.Refuse(fmt.Sprintf("%q is not among those that there are: %s", name, joinNames(known)))
		case slices.Index(list, name) < i:
			at.Refuse(fmt.Sprintf("%s is listed twice; remove one", name))
		}
	}
	return list
}

func joinNames[T ~string](list []T) string {
	var b strings.Builder
	for i, name := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(name))
	}
	return b.String()
}
