package resolve

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// CheckCertificates tells what is wrong with certificates in PEM; nil if there are some, and nothing else.
func CheckCertificates(text []byte) error {
	found := false
	for {
		block, rest := pem.Decode(text)
		switch {
		case block == nil && !found:
			return errors.New("there is no certificate in PEM")
		case block == nil:
			return nil
		case block.Type != "CERTIFICATE":
			return fmt.Errorf("there is a PEM block of type %s; only certificates may be there", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("it is not a certificate: %w", err)
		}
		found, text = true, rest
	}
}
