package scene

import (
	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/test/testcert"
)

// SetSecret sets a new certificate.
func (s *Scene) SetSecret(b *flow.Batch) {
	s.Sources.Secrets.Set(b, model.Ref(model.KindSecret, Namespace, "certificate"), input.Object[input.SecretSpec]{
		Spec: &input.SecretSpec{Type: corev1.SecretTypeTLS, Data: testcert.SelfSigned("*.example.com").SecretData()},
	})
}
