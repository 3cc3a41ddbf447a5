package clienttls

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{
		Suites: checkNames(r, "cipherSuites", s.CipherSuites, suites), Curves: checkNames(r, "curves", s.Curves, curves),
		Signatures: checkNames(r, "signatureAlgorithms", s.SignatureAlgorithms, signatures),
		ALPN:       checkNames(r, "alpn", s.ALPN, protocols), NoTickets: s.SessionTickets != nil && !*s.SessionTickets,
		Fingerprints: checkNames(r, "fingerprints", s.Fingerprints, fingerprints),
		Handshake:    extend.ReadDuration(r.Field("handshakeTimeout"), s.HandshakeTimeout, time.Millisecond),
	}
	v.readVersions(r, s)
	if s.ClientValidation != nil {
		v.Clients = readClients(r.Field("clientValidation"), *s.ClientValidation)
	}
	asked := s.ClientValidation != nil || r.Location().ClientCA
	if asked && s.SessionTickets != nil && *s.SessionTickets {
		r.Field("sessionTickets").Warn("it has no effect where clients are asked for a certificate, because a resumed " +
			"session would not check the certificate again; remove it")
	}
	return v
}

func (v *Value) readVersions(r extend.Reader, s Spec) {
	v.Min, v.Max = s.MinVersion, s.MaxVersion
	for field, version := range map[string]Version{"minVersion": v.Min, "maxVersion": v.Max} {
		if version != "" && !slices.Contains(versions, version) {
			r.Field(field).Refuse(fmt.Sprintf("%q is not a version; write one of %s", version, joinNames(versions)))
			return
		}
	}
	low, high := v.Min, v.Max
	if low == "" {
		low = "1.2"
	}
	if high == "" {
		high = "1.3"
	}
	if low > high {
		r.Refuse(fmt.Sprintf("no version is left from minVersion %s to maxVersion %s; state a lower minVersion, or a "+
			"higher maxVersion", low, high))
		return
	}
	if low < "1.2" && !slices.ContainsFunc(v.Suites, isLegacySuite) {
		r.Field("minVersion").Refuse(fmt.Sprintf("TLS %s needs a cipher suite with a name that ends in -SHA; add one to "+
			"cipherSuites, or state 1.2", low))
	}
	if low == "1.3" && len(v.Suites) > 0 {
		r.Field("cipherSuites").Warn("they have no effect: they apply to TLS 1.2 and older, and minVersion is 1.3")
	}
}

func readClients(r extend.Reader, s ClientValidation) *Clients {
	c := &Clients{
		Mode: s.Mode, SPKI: s.SPKIHashes, Hashes: s.CertificateHashes, Names: s.SubjectAltNames,
		AllowExpired: s.AllowExpired != nil && *s.AllowExpired,
	}
	switch {
	case s.Mode == "" && r.Location().AnyClient:
		c.Mode = Request
	case s.Mode == "":
		c.Mode = RequireAndVerify
	case !slices.Contains(modes, s.Mode):
		r.Field("mode").Refuse(fmt.Sprintf("%q is not a mode; write one of %s", s.Mode, joinNames(modes)))
	}
	if r.Location().ClientCA && len(s.CACertificateRefs) > 0 {
		r.Field("caCertificateRefs").Refuse("the Gateway states the CA certificates for clients (spec.tls.frontend), and " +
			"a policy can't add others; remove one of the two")
		return c
	}
	c.CA = readPEM(r, "caCertificateRefs", "ca.crt", s.CACertificateRefs, checkCertificates)
	if s.CRL != nil {
		c.CRL, c.OnlyLeaf = readPEM(r.Field("crl"), "refs", "ca.crl", s.CRL.Refs, checkCRLs), s.CRL.OnlyLeaf
		if len(s.CRL.Refs) == 0 {
			r.Field("crl").Refuse("it names no revocation list; state refs")
		}
	}
	for i, name := range c.Names {
		if why := name.findProblem(); why != "" {
			r.Field(fmt.Sprintf("subjectAltNames[%d]", i)).Refuse(why)
		}
	}
	checkHashes(r, s)
	checkTogether(r, s, c.Mode)
	return c
}

// checkTogether refuses what is not looked at by Envoy without something else.
func checkTogether(r extend.Reader, s ClientValidation, mode ValidationMode) {
	signed := len(s.CACertificateRefs) > 0 || r.Location().ClientCA
	pinned := len(s.SPKIHashes)+len(s.CertificateHashes) > 0
	switch {
	case mode == RequireAny && !signed: // Envoy would take clients that show none
		r.Field("mode").Refuse("RequireAny needs a CA certificate: without one, no certificate is required; state " +
			"caCertificateRefs")
	case mode == VerifyIfGiven && (pinned || len(s.SubjectAltNames) > 0): // Envoy takes none without
		r.Field("mode").Refuse("with subjectAltNames, spkiHashes or certificateHashes a certificate is required; state " +
			"RequireAndVerify")
	case mode.verifiesCertificate() && !signed && !pinned:
		r.Refuse("no field says which client certificates are valid; state caCertificateRefs, spkiHashes or " +
			"certificateHashes")
	}
	for _, part := range []struct {
		field       string
		stated, own bool // own: it counts without an authority
	}{
		{"crl", s.CRL != nil, false}, {"subjectAltNames", len(s.SubjectAltNames) > 0, false},
		{"allowExpired", s.AllowExpired != nil && *s.AllowExpired, false},
		{"spkiHashes", len(s.SPKIHashes) > 0, true}, {"certificateHashes", len(s.CertificateHashes) > 0, true},
	} {
		switch {
		case !part.stated:
		case !mode.verifiesCertificate():
			r.Field(part.field).Refuse(fmt.Sprintf("it has no effect: mode %s accepts all certificates; state "+
				"RequireAndVerify or VerifyIfGiven, or remove it", mode))
		case !part.own && !signed:
			r.Field(part.field).Refuse("it has no effect without a CA certificate; state caCertificateRefs")
		}
	}
}

// readPEM is the entries of objects, one behind the other.
func readPEM(
	r extend.Reader, field, key string, refs []gatewayv1.ObjectReference, check func([]byte) error,
) string {
	var all strings.Builder
	for i, ref := range refs {
		at := r.Field(fmt.Sprintf("%s[%d]", field, i))
		text, found := at.Entry(ref, key, check)
		if !found {
			continue
		}
		if err := check(text); err != nil {
			at.Unresolved("InvalidCACertificateRef", fmt.Sprintf("%s of %s %s: %v", key, ref.Kind, ref.Name, err))
			continue
		}
		all.Write(append(bytes.TrimSpace(text), '\n'))
	}
	return all.String()
}

func checkCertificates(text []byte) error {
	return checkPEMBlocks(text, "CERTIFICATE", func(der []byte) error {
		_, err := x509.ParseCertificate(der)
		return err
	})
}

func checkCRLs(text []byte) error {
	return checkPEMBlocks(text, "X509 CRL", func(der []byte) error {
		_, err := x509.ParseRevocationList(der)
		return err
	})
}

// checkPEMBlocks checks that a text is blocks of PEM of one type, one at least.
func checkPEMBlocks(text []byte, kind string, check func(der []byte) error) error {
	for found := false; ; found = true {
		block, rest := pem.Decode(text)
		switch {
		case block == nil && !found:
			return fmt.Errorf("there is no PEM block of type %s", kind)
		case block == nil:
			return nil
		case block.Type != kind:
			return fmt.Errorf("there is a PEM block of type %s; only %s may be there", block.Type, kind)
		}
		if err := check(block.Bytes); err != nil {
			return fmt.Errorf("it can't be read: %w", err)
		}
		text = rest
	}
}

// checkHashes refuses hashes that no certificate has.
func checkHashes(r extend.Reader, s ClientValidation) {
	for i, hash := range s.SPKIHashes {
		if raw, err := base64.StdEncoding.DecodeString(hash); err != nil || len(raw) != sha256.Size {
			r.Field(fmt.Sprintf("spkiHashes[%d]", i)).Refuse("it is not a SHA-256 hash in Base64, which has 44 characters")
		}
	}
	for i, hash := range s.CertificateHashes {
		if raw, err := hex.DecodeString(strings.ReplaceAll(hash, ":", "")); err != nil || len(raw) != sha256.Size {
			r.Field(fmt.Sprintf("certificateHashes[%d]", i)).Refuse(
				"it is not a SHA-256 hash in hexadecimal, which has 64 digits")
		}
	}
}
