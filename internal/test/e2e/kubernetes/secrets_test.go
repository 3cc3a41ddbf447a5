package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/test/testcert"
)

// TestSecrets: a listener's Secret is missing, then no TLS secret, then broken, then right, then another one, then
// deleted. The listener says what is wrong and serves when it is right, or was; the other listener goes on. A new
// certificate closes no connection.
func TestSecrets(t *testing.T) {
	const host = "shop.example"
	s := newStage(t)
	address := s.shop("edge")
	calls := s.traffic(100, address, by("blue"), host)
	s.apply(gateway(s.namespace, "edge", "listeners: [{name: http, port: 80, protocol: HTTP}, "+
		"{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}]"))
	refused := func(why string) {
		t.Helper()
		s.listenerIs("edge", "https", "Accepted=True", "ResolvedRefs=False InvalidCertificateRef: "+why,
			"Programmed=False Invalid")
	}
	served := []string{"Accepted=True", "ResolvedRefs=True", "Programmed=True"}
	refused("does not exist")
	s.listenerIs("edge", "http", served...)
	s.step("a Secret that is missing is said")

	first, second := testcert.SelfSigned(host), testcert.SelfSigned(host)
	s.secret("shop", corev1.SecretTypeOpaque, map[string][]byte{"password": []byte("x")})
	refused("Opaque")
	s.secret("shop", corev1.SecretTypeTLS, map[string][]byte{"tls.crt": []byte("x"), "tls.key": []byte("x")})
	refused("PEM")
	s.live("web")
	s.step("so are Secrets of no use")
	s.secret("shop", corev1.SecretTypeTLS, first.SecretData())
	s.listenerIs("edge", "https", served...)
	kept := s.hears(address, host, first)
	s.step("a right one is served")
	s.secret("shop", corev1.SecretTypeTLS, second.SecretData())
	s.hears(address, host, second)
	if err := kept.ask(host); err != nil {
		t.Errorf("a connection with the former certificate: %v", err)
	}
	s.step("a new one is served")
	if err := s.Client.CoreV1().Secrets(s.namespace).Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.listenerIs("edge", "https", "Accepted=True", "ResolvedRefs=False InvalidCertificateRef: does not exist; the last "+
		"good version stays in use until "+second.Leaf.NotAfter.UTC().Format(time.RFC3339), "Programmed=True")
	s.hears(address, host, second)
	s.step("without the Secret it serves on")
	s.secret("shop", corev1.SecretTypeTLS, first.SecretData())
	s.listenerIs("edge", "https", served...)
	s.hears(address, host, first)
	s.step("a right one is served at once")
	s.listenerIs("edge", "https", served...)
	s.address("edge")
	calls.flawless()
}

// secret makes a Secret, in place of the one of that name.
func (s *stage) secret(name string, kind corev1.SecretType, data map[string][]byte) {
	s.Helper()
	secrets := s.Client.CoreV1().Secrets(s.namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, Data: data}
	_, err := secrets.Update(context.Background(), secret, metav1.UpdateOptions{})
	if apierrors.IsInvalid(err) { // the type of a Secret can't be changed
		err = secrets.Delete(context.Background(), name, metav1.DeleteOptions{})
	}
	if err == nil || apierrors.IsNotFound(err) {
		_, err = secrets.Create(context.Background(), secret, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		s.Fatal(err)
	}
}

// line is one connection over TLS.
type line struct {
	*tls.Conn
	reader *bufio.Reader
}

func newLine(conn *tls.Conn) *line { return &line{conn, bufio.NewReader(conn)} }

// hears waits until a Gateway answers with a certificate, and returns a connection with it that has been used.
func (s *stage) hears(address, host string, c testcert.Pair) (l *line) {
	s.Helper()
	s.until("the Gateway shows the certificate", func() (string, bool) {
		roots := x509.NewCertPool()
		roots.AddCert(c.Leaf)
		conn, err := tls.Dial("tcp", address+":443", &tls.Config{ServerName: host, RootCAs: roots})
		if err != nil {
			return err.Error(), false
		}
		l = newLine(conn)
		if err := l.ask(host); err != nil {
			_ = conn.Close()
			return err.Error(), false
		}
		return "", bytes.Equal(conn.ConnectionState().PeerCertificates[0].Raw, c.Leaf.Raw)
	})
	s.Cleanup(func() { _ = l.Close() })
	return l
}

// ask makes a request and reads the answer. It is an error if the connection can't be used on.
func (l *line) ask(host string) error {
	request, err := http.NewRequest(http.MethodGet, "https://"+host+"/", nil)
	if err != nil {
		return err
	}
	if err := l.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if err := request.Write(l); err != nil {
		return err
	}
	response, err := http.ReadResponse(l.reader, request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Close {
		return fmt.Errorf("%s, and the connection is to be closed: %v", response.Status, response.Close)
	}
	_, err = bufio.NewReader(response.Body).WriteTo(new(bytes.Buffer))
	return err
}
