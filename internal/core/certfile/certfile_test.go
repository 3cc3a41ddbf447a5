package certfile

import (
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/testcert"
)

// TestCertificateIsReadAgain: a new certificate counts at once, and one that can't be read does not.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	c := &File{cert: filepath.Join(dir, "crt"), key: filepath.Join(dir, "key")}
	serial := func() string {
		got, err := c.Get(nil)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := x509.ParseCertificate(got.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return parsed.Subject.String() + parsed.SerialNumber.String()
	}
	written := time.Now()
	write := func(cert, key []byte) {
		written = written.Add(time.Second) // file systems may be coarse
		for path, text := range map[string][]byte{c.cert: cert, c.key: key} {
			if err := errors.Join(os.WriteFile(path, text, 0o600), os.Chtimes(path, written, written)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Open(c.cert, c.key); err == nil || !strings.Contains(err.Error(), "read the certificate: ") {
		t.Errorf("no file: %v", err)
	}
	first, second := testcert.SelfSigned("one.example"), testcert.SelfSigned("two.example")
	write(first.Certificate, first.PrivateKey)
	one := serial()
	write([]byte("no certificate"), first.PrivateKey)
	if serial() != one {
		t.Error("the certificate is not the one before")
	}
	write(second.Certificate, second.PrivateKey)
	if serial() == one {
		t.Error("the new certificate does not count")
	}
}
