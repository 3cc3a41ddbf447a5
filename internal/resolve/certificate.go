package resolve

import (
	"crypto/tls"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// Certificate reads a Secret of type kubernetes.io/tls. The error, for the user, says what is wrong with it.
func Certificate(ref model.ObjectRef, secret input.SecretSpec) (model.Secret, error) {
	if secret.Type != corev1.SecretTypeTLS {
		return model.Secret{}, fmt.Errorf("%s has type %q, want %q", ref, secret.Type, corev1.SecretTypeTLS)
	}
	cert, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	if len(cert) == 0 || len(key) == 0 {
		return model.Secret{}, fmt.Errorf("%s needs both %s and %s", ref, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		return model.Secret{}, fmt.Errorf("%s is not a valid certificate and key: %w", ref, err)
	}
	return model.Secret{Ref: ref, Certificate: cert, PrivateKey: key}, nil
}
