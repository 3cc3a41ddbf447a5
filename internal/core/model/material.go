package model

import (
	"encoding/json"
	"fmt"
	"time"
)

// MaterialKey names what somebody reads of an object as material for TLS or tokens.
type MaterialKey struct {
	Object ObjectRef
	Use    string // what it is read as: "certificate", "authorities", "jwt/jwks"
}

// certificateUse is the use of a Secret with a certificate that is shown, and its key.
const certificateUse = "certificate"

// CertificateKey names the certificate of a Secret, with its key.
func CertificateKey(secret ObjectRef) MaterialKey { return MaterialKey{secret, certificateUse} }

// IsCertificate tells whether it is one.
func (k MaterialKey) IsCertificate() bool { return k.Use == certificateUse }

// Material is a certificate with its key, authorities, revocations, or a key set.
type Material struct {
	Text       []byte // PEM or JSON
	PrivateKey []byte // PEM; nil: there is none
	// From and Until are the times between which it may be used; zero: no beginning, no end is known.
	From, Until time.Time
}

// String implements fmt.Stringer. It shows nothing of the content: a key set, too, may hold what is secret.
func (m Material) String() string {
	return fmt.Sprintf("%d bytes, %d of a private key", len(m.Text), len(m.PrivateKey))
}

// MarshalJSON implements json.Marshaler, since JSON is what dumps show.
func (m Material) MarshalJSON() ([]byte, error) { return json.Marshal(m.String()) }

// DescribeFallback ends the message of what can't be used while this is used in its place.
func (m Material) DescribeFallback() string {
	if m.Until.IsZero() {
		return "; the last good version stays in use until Cardea restarts"
	}
	return "; the last good version stays in use until " + m.Until.UTC().Format(time.RFC3339) + ", or until Cardea " +
		"restarts"
}
