package kubelet

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// certificate is what a podCertificate projection shows. A key is used for one request.
type certificate struct {
	key, chain string // PEM; "": none was issued yet
	renewAt    time.Time
	pending    *requested
	refused    error // the signer's last word, if it refused
}

// requested is a PodCertificateRequest that the signer is to answer.
type requested struct{ name, key string }

// requestSource is what a pod hears of whose PodCertificateRequest changes.
func requestSource(namespace, pod string) source {
	return source{"PodCertificateRequest", namespace, pod}
}

// certificateContent is a certificate of the pod's service account, and its key. It is renewed when its signer says,
// and stays as it is if the signer does not answer.
func (p *pod) certificateContent(
	ctx context.Context, v *volume, s *corev1.PodCertificateProjection, mode *int32,
) (content, error) {
	id := v.spec.Name + "/" + cmp.Or(s.CredentialBundlePath, s.KeyPath)
	c := p.certificates[id]
	if c == nil {
		c = &certificate{}
		p.certificates[id] = c
	}
	if err := p.advance(ctx, c, s); err != nil {
		return nil, fmt.Errorf("certificate of signer %s: %w", s.SignerName, err)
	}
	if renewAt := time.Now().Add(c.renewAt.Sub(p.kubelet.Now())); v.refresh.IsZero() || renewAt.Before(v.refresh) {
		v.refresh = renewAt
	}
	return c.files(s, p.secretFile("", mode)), nil
}

// files are those that a projection asks for.
func (c *certificate) files(s *corev1.PodCertificateProjection, as file) content {
	files := content{}
	put := func(path, data string) {
		if path != "" {
			as.data = data
			files[path] = as
		}
	}
	put(s.CredentialBundlePath, c.key+c.chain)
	put(s.KeyPath, c.key)
	put(s.CertificateChainPath, c.chain)
	return files
}

// advance takes what the signer has answered, and asks it if it is time. An error says that there is nothing to show
// yet.
func (p *pod) advance(ctx context.Context, c *certificate, s *corev1.PodCertificateProjection) error {
	if c.pending != nil {
		if err := p.takeAnswer(ctx, c); err != nil {
			return err
		}
	}
	if c.refused != nil && c.chain == "" {
		return c.refused // as with a kubelet, for as long as the pod lives
	}
	if c.pending == nil && !p.kubelet.Now().Before(c.renewAt) {
		var err error
		if c.pending, err = p.request(ctx, s); err != nil {
			return err
		}
		c.renewAt = p.kubelet.Now().Add(time.Minute) // ask again if nothing was answered, or it was refused
	}
	if c.chain == "" {
		return fmt.Errorf("PodCertificateRequest %s is not answered yet", c.pending.name)
	}
	return nil
}

// takeAnswer takes the answer to the pending request, if there is one.
func (p *pod) takeAnswer(ctx context.Context, c *certificate) error {
	requests := p.kubelet.Client.CertificatesV1beta1().PodCertificateRequests(p.latest().Namespace)
	answer, err := requests.Get(ctx, c.pending.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.pending = nil
		return nil
	}
	if err != nil {
		return err
	}
	for _, kind := range []string{
		certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
		certificatesv1beta1.PodCertificateRequestConditionTypeFailed,
	} {
		if no := meta.FindStatusCondition(answer.Status.Conditions, kind); no != nil {
			c.refused = fmt.Errorf("PodCertificateRequest %s: %s, %s: %s", answer.Name, kind, no.Reason, no.Message)
			c.pending = nil
			return nil
		}
	}
	if answer.Status.CertificateChain != "" {
		c.key, c.chain, c.renewAt = c.pending.key, answer.Status.CertificateChain, answer.Status.BeginRefreshAt.Time
		c.pending, c.refused = nil, nil
	}
	return nil
}

// request asks the signer for a certificate of a new key.
func (p *pod) request(ctx context.Context, s *corev1.PodCertificateProjection) (*requested, error) {
	object := p.latest()
	account, err := p.kubelet.Client.CoreV1().ServiceAccounts(object.Namespace).Get(ctx, p.spec.ServiceAccountName,
		metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	key, err := generate(s.KeyType)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, err
	}
	made, err := p.kubelet.Client.CertificatesV1beta1().PodCertificateRequests(object.Namespace).Create(ctx,
		&certificatesv1beta1.PodCertificateRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "req-" + object.Name + "-", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Pod", Name: object.Name, UID: object.UID,
			}}},
			Spec: certificatesv1beta1.PodCertificateRequestSpec{
				SignerName: s.SignerName, PodName: object.Name, PodUID: object.UID, ServiceAccountName: account.Name,
				ServiceAccountUID: account.UID, NodeName: nodeName, NodeUID: p.kubelet.nodeUID,
				MaxExpirationSeconds: s.MaxExpirationSeconds, StubPKCS10Request: stub,
				UnverifiedUserAnnotations: s.UserAnnotations,
			},
		}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &requested{made.Name, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}, nil
}

// generate makes a key of a type of podCertificate projections.
func generate(keyType string) (crypto.Signer, error) {
	switch keyType {
	case "RSA3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "RSA4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "ECDSAP256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ECDSAP384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ECDSAP521":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "ED25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("keyType %q is not known", keyType)
}
