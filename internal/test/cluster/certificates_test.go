package cluster_test

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/test/testcert"
)

// TestPodCertificate: a pod waits until a signer answers, shows the certificate and its key, and follows a
// ClusterTrustBundle. Of one that is denied it tells why it waits.
func TestPodCertificate(t *testing.T) {
	p := newPlace(t)
	const signer, name = "example.com/pods", "example.com:pods:all"
	ca, other := testcert.NewAuthority("ca"), testcert.NewAuthority("other")
	bundles := p.Client.CertificatesV1beta1().ClusterTrustBundles()
	bundle, err := bundles.Create(t.Context(), &certificatesv1beta1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       certificatesv1beta1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: string(ca.Certificate)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bundles.Delete(t.Context(), name, metav1.DeleteOptions{}) })
	projected := func(name, keyType string) {
		p.pod(name, "while sleep 0.05; do cat /id/all.pem /id/ca.pem; echo =whole=; done", mounted("/id",
			corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{PodCertificate: &corev1.PodCertificateProjection{
					SignerName: signer, KeyType: keyType, CredentialBundlePath: "all.pem",
				}},
				{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{
					SignerName: new(signer), LabelSelector: &metav1.LabelSelector{}, Path: "ca.pem",
				}},
			}}}))
	}
	projected("holder", "ECDSAP256")
	p.answer("holder", func(r *certificatesv1beta1.PodCertificateRequest) { issue(t, r, ca) })
	log := p.prints("holder", "=whole=")
	key, rest := pem.Decode([]byte(log))
	chain, rest := pem.Decode(rest)
	trusted, _ := pem.Decode(rest)
	if key.Type != "PRIVATE KEY" || chain.Type != "CERTIFICATE" || string(trusted.Bytes) != string(ca.Leaf.Raw) {
		t.Fatalf("the volume shows %s", log)
	}
	bundle.Spec.TrustBundle += string(other.Certificate)
	if _, err := bundles.Update(t.Context(), bundle, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.prints("holder", strings.TrimSpace(string(other.Certificate)))

	projected("denied", "ED25519")
	p.answer("denied", func(r *certificatesv1beta1.PodCertificateRequest) {
		r.Status.Conditions = []metav1.Condition{{
			Type: "Denied", Status: "True", Reason: "UnsupportedKeyType", Message: "use another",
			LastTransitionTime: metav1.Now(),
		}}
	})
	p.until("denied", func(object *corev1.Pod) bool {
		s := object.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil &&
			strings.Contains(s[0].State.Waiting.Message, "Denied, UnsupportedKeyType: use another")
	})
}

// issue answers a request with a certificate.
func issue(t *testing.T, r *certificatesv1beta1.PodCertificateRequest, ca testcert.Pair) {
	asked, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now().Truncate(time.Second)
	leaf := testcert.ForKey(x509.Certificate{NotBefore: from, NotAfter: from.Add(time.Hour)}, &ca, asked.PublicKey)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: from.Add(d)} }
	r.Status = certificatesv1beta1.PodCertificateRequestStatus{
		Conditions: []metav1.Condition{{
			Type: "Issued", Status: "True", Reason: "Test", LastTransitionTime: metav1.Now(),
		}},
		CertificateChain: string(leaf), NotBefore: at(0), BeginRefreshAt: at(time.Hour / 2), NotAfter: at(time.Hour),
	}
}

// answer waits for a pod's request, and answers it.
func (p *place) answer(pod string, fill func(*certificatesv1beta1.PodCertificateRequest)) {
	p.t.Helper()
	requests := p.Client.CertificatesV1beta1().PodCertificateRequests(p.namespace)
	watch, err := requests.Watch(p.t.Context(), metav1.ListOptions{FieldSelector: "spec.podName=" + pod})
	if err != nil {
		p.t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		r := event.Object.(*certificatesv1beta1.PodCertificateRequest)
		fill(r)
		if _, err := requests.UpdateStatus(p.t.Context(), r, metav1.UpdateOptions{}); err != nil {
			p.t.Fatal(err)
		}
		return
	}
}
