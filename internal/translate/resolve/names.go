package resolve

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// ReadLeaf tells the DNS names that a certificate (PEM, leaf first) is good for, or its common name if it has none
// (some clients still take that), and between which times it is valid; zero: that is not known.
func ReadLeaf(certificate []byte) (names []string, from, until time.Time) {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return nil, from, until
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return nil, from, until
	case len(leaf.DNSNames) == 0 && leaf.Subject.CommonName != "":
		return []string{leaf.Subject.CommonName}, leaf.NotBefore, leaf.NotAfter
	}
	return leaf.DNSNames, leaf.NotBefore, leaf.NotAfter
}

// NameCovers tells whether a name of a certificate is good for a hostname or, if that is a wildcard, for a host that it
// stands for. In a certificate a "*" stands for one label or a part of it (RFC 6125, 6.4.3), in a hostname for one or
// more.
func NameCovers(name, hostname string) bool {
	name, hostname = strings.ToLower(strings.TrimSuffix(name, ".")), strings.ToLower(hostname)
	first, rest, _ := strings.Cut(name, ".")
	if wild := strings.Contains(first, "*"); !wild {
		return model.DomainCovers(hostname, name)
	}
	if strings.HasPrefix(hostname, "*.") {
		return model.DomainCovers(hostname, "*."+rest)
	}
	_, domain, _ := strings.Cut(hostname, ".")
	return domain == rest && labelMatches(first, strings.TrimSuffix(hostname, "."+domain))
}

// labelMatches tells whether a label with a "*" stands for a label.
func labelMatches(wild, label string) bool {
	before, after, _ := strings.Cut(wild, "*")
	return len(label) >= len(before)+len(after) && strings.HasPrefix(label, before) && strings.HasSuffix(label, after)
}
