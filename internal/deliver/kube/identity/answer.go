package identity

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isAnswered tells whether a request has its answer, which is the last.
func isAnswered(r *certificatesv1beta1.PodCertificateRequest) bool {
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
			certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
			certificatesv1beta1.PodCertificateRequestConditionTypeFailed:
			return true
		}
	}
	return false
}

// makeAnswer is the status of a request: a certificate, or why there is none. An error says that there is no answer
// yet.
func (s *Signer) makeAnswer(
	r *certificatesv1beta1.PodCertificateRequest, pod *corev1.Pod,
) (*certificatesv1beta1.PodCertificateRequestStatus, error) {
	now := s.cfg.Clock.Now()
	key, no := checkRequest(r, pod)
	if no != nil {
		return &certificatesv1beta1.PodCertificateRequestStatus{Conditions: newConditions(
			certificatesv1beta1.PodCertificateRequestConditionTypeDenied, no.reason, no.message, r, now)}, nil
	}
	wanted, renewAt := requestTemplate(r, s.cfg.TrustDomain, now)
	leaf, err := s.cfg.Authority.Sign(wanted, key)
	if err != nil {
		return nil, err
	}
	return &certificatesv1beta1.PodCertificateRequestStatus{
		Conditions: newConditions(certificatesv1beta1.PodCertificateRequestConditionTypeIssued, reasonIssued,
			"the certificate names "+wanted.URIs[0].String(), r, now),
		CertificateChain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})),
		NotBefore:        &metav1.Time{Time: leaf.NotBefore}, BeginRefreshAt: &metav1.Time{Time: renewAt},
		NotAfter: &metav1.Time{Time: leaf.NotAfter},
	}, nil
}

func newConditions(
	kind, reason, message string, r *certificatesv1beta1.PodCertificateRequest, now time.Time,
) []metav1.Condition {
	return []metav1.Condition{{
		Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: r.Generation,
		LastTransitionTime: metav1.Time{Time: now},
	}}
}

// statusPatch is a status as a merge patch of the version of the request that was judged: nothing is written if it has
// changed.
func statusPatch(
	r *certificatesv1beta1.PodCertificateRequest, status *certificatesv1beta1.PodCertificateRequestStatus,
) ([]byte, error) {
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": r.UID, "resourceVersion": r.ResourceVersion}, "status": status,
	})
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return text, nil
}
