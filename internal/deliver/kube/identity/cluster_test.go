package identity_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/deliver/certs"
	"cardea.dev/cardea/internal/deliver/kube/identity"
	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// waitTimeout is how long a test waits for an event that must come.
const waitTimeout = 60 * time.Second

const (
	namespace, secretName = metav1.NamespaceDefault, "cardea-identity"
	trustDomain           = "example.org"
)

// scene is a signer with just the rights that are asked for.
type scene struct {
	t       *testing.T
	cluster *kubetest.Cluster
	log     *safeBuffer
}

type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func newScene(t *testing.T, o kubetest.Options) *scene {
	t.Helper()
	s := &scene{t: t, cluster: kubetest.Start(t, o), log: &safeBuffer{}}
	const user, group = "signer", rbacv1.GroupName
	meta := metav1.ObjectMeta{Name: user}
	rbac, always := s.cluster.Client.RbacV1(), metav1.CreateOptions{}
	subjects := []rbacv1.Subject{{APIGroup: group, Kind: rbacv1.UserKind, Name: user}, {
		APIGroup: group, Kind: rbacv1.GroupKind, Name: "system:authenticated",
	}}
	_, err1 := rbac.Roles(namespace).Create(t.Context(),
		&rbacv1.Role{ObjectMeta: meta, Rules: certs.Rules(secretName)}, always)
	_, err2 := rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "Role", Name: user}, Subjects: subjects[:1],
	}, always)
	_, err3 := rbac.ClusterRoles().Create(t.Context(),
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: identity.Rules(identity.SignerName)}, always)
	_, err4 := rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "ClusterRole", Name: user}, Subjects: subjects[:1],
	}, always)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	config := rest.CopyConfig(s.cluster.Config)
	config.Impersonate.UserName, config.Impersonate.Groups = user, []string{"system:authenticated"}
	s.run(config)
	return s
}

// run runs a signer until the test ends.
func (s *scene) run(config *rest.Config) {
	s.t.Helper()
	log := slog.New(slog.NewTextHandler(s.log, nil))
	authority, err := certs.New(certs.Config{
		REST: config, Namespace: namespace, Name: secretName, Purpose: "identity", Log: log,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	signer, err := identity.New(identity.Config{
		REST: config, Authority: authority, TrustDomain: trustDomain, Log: log, Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- signer.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
}

// until waits until the answer is nil.
func (s *scene) until(ask func() error) {
	s.t.Helper()
	var last error
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if last = ask(); last == nil {
			return
		}
	}
	s.t.Fatalf("%v\nlog:\n%s", last, s.log)
}

// pod runs a pod that prints its certificate.
func (s *scene) pod(name, account string, projection corev1.PodCertificateProjection) *corev1.Pod {
	s.t.Helper()
	projection.CredentialBundlePath = "all.pem"
	core := s.cluster.Client.CoreV1()
	_, err := core.ServiceAccounts(namespace).Create(s.t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		s.t.Fatal(err)
	}
	made, err := core.Pods(namespace).Create(s.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			ServiceAccountName: account,
			Containers: []corev1.Container{{
				Name: "c", Image: kubetest.EchoImage, Command: []string{"sh", "-c", "cat /id/all.pem; exec sleep 1000"},
				VolumeMounts: []corev1.VolumeMount{{Name: "id", MountPath: "/id"}},
			}},
			Volumes: []corev1.Volume{{Name: "id", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{PodCertificate: &projection}}},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// certificateOf is what a pod shows.
func (s *scene) certificateOf(pod string) (leaf *x509.Certificate) {
	s.t.Helper()
	s.until(func() error {
		text, err := s.cluster.Client.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(s.t.Context())
		if err != nil {
			return err
		}
		_, rest := pem.Decode(text)
		block, _ := pem.Decode(rest)
		if block == nil {
			return fmt.Errorf("it shows %q", text)
		}
		leaf, err = x509.ParseCertificate(block.Bytes)
		return err
	})
	return leaf
}

// denied waits until a pod can't start because of its certificate.
func (s *scene) denied(pod, why string) {
	s.t.Helper()
	s.until(func() error {
		object, err := s.cluster.Client.CoreV1().Pods(namespace).Get(s.t.Context(), pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range object.Status.ContainerStatuses {
			if c.State.Waiting != nil && strings.Contains(c.State.Waiting.Message, why) {
				return nil
			}
		}
		return fmt.Errorf("%+v, want %s", object.Status.ContainerStatuses, why)
	})
}

// bundle is what the ClusterTrustBundle has, when it has something.
func (s *scene) bundle() (roots *x509.CertPool, object *certificatesv1beta1.ClusterTrustBundle) {
	s.t.Helper()
	s.until(func() (err error) {
		object, err = s.cluster.Client.CertificatesV1beta1().ClusterTrustBundles().Get(s.t.Context(),
			identity.BundleName(identity.SignerName), metav1.GetOptions{})
		return err
	})
	roots = x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(object.Spec.TrustBundle)) {
		s.t.Fatalf("it has no certificate: %q", object.Spec.TrustBundle)
	}
	return roots, object
}

// TestSigner: a pod gets a certificate that names its service account and that the ClusterTrustBundle trusts; who asks
// for something else is denied, with a reason; other signers' requests are not answered.
func TestSigner(t *testing.T) {
	s := newScene(t, kubetest.Options{})
	ours := corev1.PodCertificateProjection{SignerName: identity.SignerName, KeyType: "ECDSAP256"}
	theirs := ours
	theirs.SignerName = "example.com/other"
	other, pod := s.pod("other", "agent", theirs), s.pod("agent", "agent", ours)
	leaf := s.certificateOf("agent")
	roots, bundle := s.bundle()
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		t.Error(err)
	}
	const id = "spiffe://example.org/ns/default/sa/agent"
	if len(leaf.URIs) != 1 || leaf.URIs[0].String() != id || len(leaf.DNSNames) > 0 {
		t.Errorf("it names %v %v", leaf.URIs, leaf.DNSNames)
	}
	if life := leaf.NotAfter.Sub(leaf.NotBefore); life != identity.MaxLifetime {
		t.Errorf("it lives %v", life)
	}
	ours.MaxExpirationSeconds = new(int32(3600))
	s.pod("short", "agent", ours)
	if short := s.certificateOf("short"); short.NotAfter.Sub(short.NotBefore) != time.Hour {
		t.Errorf("it lives %v", short.NotAfter.Sub(short.NotBefore))
	}
	ours.KeyType = "ED25519"
	s.pod("edwards", "agent", ours)
	s.denied("edwards", "Denied, UnsupportedKeyType: the key is ED25519; state keyType: ECDSAP256")

	s.steals(pod)
	requests, err := s.cluster.Client.CertificatesV1beta1().PodCertificateRequests(namespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "spec.podName=" + other.Name})
	if err != nil || len(requests.Items) != 1 || len(requests.Items[0].Status.Conditions) > 0 {
		t.Errorf("another signer's request: %+v, %v", requests, err)
	}
	s.deletesBundle(bundle)
}

// steals asks for the certificate of another service account, as one who may create requests could.
func (s *scene) steals(pod *corev1.Pod) {
	s.t.Helper()
	requests := s.cluster.Client.CertificatesV1beta1().PodCertificateRequests(namespace)
	list, err := requests.List(s.t.Context(), metav1.ListOptions{FieldSelector: "spec.podName=" + pod.Name})
	if err != nil || len(list.Items) == 0 {
		s.t.Fatal(err)
	}
	stolen := &certificatesv1beta1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "stolen"}, Spec: list.Items[0].Spec,
	}
	stolen.Spec.ServiceAccountName = "admin"
	if _, err := requests.Create(s.t.Context(), stolen, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.until(func() error {
		r, err := requests.Get(s.t.Context(), "stolen", metav1.GetOptions{})
		if err == nil && (len(r.Status.Conditions) != 1 || r.Status.Conditions[0].Reason != "PodMismatch" ||
			r.Status.CertificateChain != "") {
			err = fmt.Errorf("%+v", r.Status)
		}
		return err
	})
}

// deletesBundle deletes the ClusterTrustBundle, and then edits it: it is written again each time.
func (s *scene) deletesBundle(was *certificatesv1beta1.ClusterTrustBundle) {
	s.t.Helper()
	bundles := s.cluster.Client.CertificatesV1beta1().ClusterTrustBundles()
	restored := func(version string) {
		s.t.Helper()
		s.until(func() error {
			now, err := bundles.Get(s.t.Context(), was.Name, metav1.GetOptions{})
			if err == nil && (now.ResourceVersion == version || now.Spec.TrustBundle != was.Spec.TrustBundle) {
				err = fmt.Errorf("it is %+v", now)
			}
			return err
		})
	}
	if err := bundles.Delete(s.t.Context(), was.Name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	restored(was.ResourceVersion)
	now, err := bundles.Get(s.t.Context(), was.Name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(was.Spec.TrustBundle))
	now.Spec.TrustBundle = "# edited\n" + string(pem.EncodeToMemory(block))
	edited, err := bundles.Update(s.t.Context(), now, metav1.UpdateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	restored(edited.ResourceVersion)
}

// TestWithoutTheKinds: an API server that serves neither kind is no trouble. It is said once of each, nothing is
// written, and there is no authority.
func TestWithoutTheKinds(t *testing.T) {
	s := newScene(t, kubetest.Options{WithoutPodCertificates: true})
	const said = "the API server does not serve this kind"
	s.until(func() error {
		if n := strings.Count(s.log.String(), said); n != 2 {
			return fmt.Errorf("it was said %d times", n)
		}
		return nil
	})
	_, err := s.cluster.Client.CoreV1().Secrets(namespace).Get(t.Context(), secretName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the authority's Secret: %v", err)
	}
	if n := strings.Count(s.log.String(), "\n"); n != 2 {
		t.Errorf("the log says\n%s", s.log)
	}
}
