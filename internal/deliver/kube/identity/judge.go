package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// skew is the allowed difference of clocks: certificates are valid from this long before they are made. The API server
// permits 5 minutes.
const skew = 2 * time.Minute

// Reasons of conditions, beside those that Kubernetes defines.
const (
	reasonIssued      = "Issued"
	reasonPodMismatch = "PodMismatch"
	reasonInvalidKey  = "InvalidKey"
)

// refusal is why a request gets no certificate, for good.
type refusal struct{ reason, message string }

// SPIFFEID is the SPIFFE SPIFFEID of a service account.
func SPIFFEID(trustDomain, namespace, account string) *url.URL {
	return &url.URL{Scheme: "spiffe", Host: trustDomain, Path: "/ns/" + namespace + "/sa/" + account}
}

// checkRequest reads the public key that a request is for, or why it gets no certificate. pod is the one that it names,
// as the API server has it; nil: there is none of this name.
func checkRequest(r *certificatesv1beta1.PodCertificateRequest, pod *corev1.Pod) (*ecdsa.PublicKey, *refusal) {
	if keys := slices.Sorted(maps.Keys(r.Spec.UnverifiedUserAnnotations)); len(keys) > 0 {
		return nil, &refusal{certificatesv1beta1.PodCertificateRequestConditionInvalidUserConfig,
			fmt.Sprintf("signer %s does not support userAnnotations; remove %s from the podCertificate projection",
				r.Spec.SignerName, strings.Join(keys, ", "))}
	}
	if no := findMismatch(&r.Spec, pod); no != "" {
		return nil, &refusal{reasonPodMismatch, no}
	}
	public, err := publicKey(&r.Spec)
	if err != nil {
		return nil, &refusal{reasonInvalidKey, fmt.Sprintf("the public key can't be read: %v", err)}
	}
	key, ok := public.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, &refusal{certificatesv1beta1.PodCertificateRequestConditionUnsupportedKeyType,
			fmt.Sprintf("the key is %s; state keyType: ECDSAP256 in the podCertificate projection", keyTypeName(public))}
	}
	return key, nil
}

// findMismatch is what of a request is not as its pod is; "": all is. NodeRestriction compares the same where a kubelet
// asks, but a cluster may be without it, and others may be permitted to ask.
func findMismatch(r *certificatesv1beta1.PodCertificateRequestSpec, pod *corev1.Pod) string {
	switch {
	case pod == nil:
		return fmt.Sprintf("there is no pod %s", r.PodName)
	case pod.UID != r.PodUID:
		return fmt.Sprintf("pod %s has the UID %s, not %s", r.PodName, pod.UID, r.PodUID)
	case pod.Spec.ServiceAccountName != r.ServiceAccountName:
		return fmt.Sprintf("pod %s runs as ServiceAccount %s, not %s", r.PodName, pod.Spec.ServiceAccountName,
			r.ServiceAccountName)
	case pod.Spec.NodeName != string(r.NodeName):
		return fmt.Sprintf("pod %s runs on node %s, not %s", r.PodName, pod.Spec.NodeName, r.NodeName)
	}
	return ""
}

// publicKey is the key that a request wants a certificate for. The API server has verified that the requester has the
// private key.
func publicKey(r *certificatesv1beta1.PodCertificateRequestSpec) (any, error) {
	if len(r.StubPKCS10Request) == 0 {
		return x509.ParsePKIXPublicKey(r.PKIXPublicKey) // Kubernetes 1.35
	}
	stub, err := x509.ParseCertificateRequest(r.StubPKCS10Request)
	if err != nil {
		return nil, err
	}
	return stub.PublicKey, stub.CheckSignature()
}

// keyTypeName is a key's type, as projections name it where they can.
func keyTypeName(public any) string {
	switch key := public.(type) {
	case *ecdsa.PublicKey:
		return "ECDSA" + strings.ReplaceAll(key.Curve.Params().Name, "-", "")
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA%d", key.N.BitLen())
	case ed25519.PublicKey:
		return "ED25519"
	}
	return fmt.Sprintf("%T", public)
}

// CertificateTemplate is the certificate of an identity that lives for MaxLifetime, or shorter if most says so (0: it
// says nothing). It is to be renewed after half of its life.
func CertificateTemplate(
	id *url.URL, most time.Duration, now time.Time,
) (certificate x509.Certificate, renewAt time.Time) {
	life := MaxLifetime
	if most > 0 {
		life = min(life, most)
	}
	from := now.Add(-skew).Truncate(time.Second).UTC()
	return x509.Certificate{
		URIs: []*url.URL{id}, NotBefore: from, NotAfter: from.Add(life), BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, from.Add(life / 2)
}

// requestTemplate is the certificate of the service account of a request.
func requestTemplate(
	r *certificatesv1beta1.PodCertificateRequest, trustDomain string, now time.Time,
) (certificate x509.Certificate, renewAt time.Time) {
	var most time.Duration
	if seconds := r.Spec.MaxExpirationSeconds; seconds != nil {
		most = time.Duration(*seconds) * time.Second
	}
	return CertificateTemplate(SPIFFEID(trustDomain, r.Namespace, r.Spec.ServiceAccountName), most, now)
}
