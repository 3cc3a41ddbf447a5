package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// asks is a request for a key, and the pod that it names.
func asks(t *testing.T, key crypto.Signer) (*certificatesv1beta1.PodCertificateRequest, *corev1.Pod) {
	t.Helper()
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1beta1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "r"},
		Spec: certificatesv1beta1.PodCertificateRequestSpec{
			SignerName: SignerName, PodName: "agent-1", PodUID: "1", ServiceAccountName: "agent", NodeName: "n",
			StubPKCS10Request: stub,
		},
	}, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "agent-1", UID: "1"},
		Spec:       corev1.PodSpec{ServiceAccountName: "agent", NodeName: "n"},
	}
}

func p256(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestJudge: a request is taken if all is as its pod is and its key is of the one type; else the message says what to
// write instead.
func TestJudge(t *testing.T) {
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, edwards, _ := ed25519.GenerateKey(rand.Reader)
	for _, c := range []struct {
		about   string
		key     crypto.Signer // nil: P-256
		edit    func(*certificatesv1beta1.PodCertificateRequest, *corev1.Pod)
		gone    bool
		refused string // REASON: a part of the message; "": it is taken
	}{
		{about: "good"},
		{about: "P-384", key: p384, refused: "UnsupportedKeyType: the key is ECDSAP384; state keyType: ECDSAP256"},
		{about: "Ed25519", key: edwards, refused: "UnsupportedKeyType: the key is ED25519; state keyType: ECDSAP256"},
		{about: "annotations", refused: "InvalidUnverifiedUserAnnotations: signer cardea.dev/identity does not support " +
			"userAnnotations; remove a.example/b, a.example/c",
			edit: func(r *certificatesv1beta1.PodCertificateRequest, _ *corev1.Pod) {
				r.Spec.UnverifiedUserAnnotations = map[string]string{"a.example/c": "", "a.example/b": ""}
			}},
		{about: "no pod", gone: true, refused: "PodMismatch: there is no pod agent-1"},
		{about: "another pod", refused: "PodMismatch: pod agent-1 has the UID 2, not 1",
			edit: func(_ *certificatesv1beta1.PodCertificateRequest, p *corev1.Pod) { p.UID = "2" }},
		{about: "another account", refused: "PodMismatch: pod agent-1 runs as ServiceAccount agent, not admin",
			edit: func(r *certificatesv1beta1.PodCertificateRequest, _ *corev1.Pod) { r.Spec.ServiceAccountName = "admin" }},
		{about: "another node", refused: "PodMismatch: pod agent-1 runs on node n, not m",
			edit: func(r *certificatesv1beta1.PodCertificateRequest, _ *corev1.Pod) { r.Spec.NodeName = "m" }},
		{about: "nonsense", refused: "InvalidKey: the public key can't be read",
			edit: func(r *certificatesv1beta1.PodCertificateRequest, _ *corev1.Pod) {
				r.Spec.StubPKCS10Request = []byte("nonsense")
			}},
		{about: "a key by itself, as of Kubernetes 1.35",
			edit: func(r *certificatesv1beta1.PodCertificateRequest, _ *corev1.Pod) {
				r.Spec.PKIXPublicKey, _ = x509.MarshalPKIXPublicKey(p256(t).Public())
				r.Spec.StubPKCS10Request = nil
			}},
	} {
		if c.key == nil {
			c.key = p256(t)
		}
		r, pod := asks(t, c.key)
		if c.edit != nil {
			c.edit(r, pod)
		}
		if c.gone {
			pod = nil
		}
		key, no := checkRequest(r, pod)
		switch {
		case c.refused == "" && (no != nil || key == nil):
			t.Errorf("%s: %v", c.about, no)
		case c.refused != "" && (no == nil || !strings.HasPrefix(no.reason+": "+no.message, c.refused)):
			t.Errorf("%s: %v, want %s", c.about, no, c.refused)
		}
	}
}

// TestTemplate: a certificate names the service account, lives for a day or shorter if that is asked, and is renewed
// after half of it.
func TestTemplate(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 500, time.UTC)
	for _, c := range []struct{ asked, life time.Duration }{
		{0, MaxLifetime}, {time.Hour, time.Hour}, {91 * 24 * time.Hour, MaxLifetime},
	} {
		r, _ := asks(t, p256(t))
		if c.asked > 0 {
			r.Spec.MaxExpirationSeconds = new(int32(c.asked / time.Second))
		}
		made, renewAt := requestTemplate(r, "example.org", now)
		if id := made.URIs[0].String(); id != "spiffe://example.org/ns/shop/sa/agent" {
			t.Errorf("it names %s", id)
		}
		if life := made.NotAfter.Sub(made.NotBefore); life != c.life || renewAt.Sub(made.NotBefore) != life/2 {
			t.Errorf("asked for %v, it lives %v and is renewed after %v", c.asked, life, renewAt.Sub(made.NotBefore))
		}
	}
}

// FuzzPublicKey: whatever the bytes are, reading them ends in a key or an error.
func FuzzPublicKey(f *testing.F) {
	f.Add([]byte{}, []byte("nonsense"))
	f.Fuzz(func(_ *testing.T, stub, key []byte) {
		public, err := publicKey(&certificatesv1beta1.PodCertificateRequestSpec{StubPKCS10Request: stub, PKIXPublicKey: key})
		if err == nil {
			_ = keyTypeName(public)
		}
	})
}
