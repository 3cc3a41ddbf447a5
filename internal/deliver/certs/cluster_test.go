package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"cardea.dev/cardea/internal/deliver/certs"
	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// waitTimeout is how long a test waits for an event that must come: a limit for broken programs, not a measurement.
const waitTimeout = 60 * time.Second

const serverName = "cardea.cardea-system.svc"

var times = certs.Times{Authority: 90 * time.Hour, Server: 10 * time.Hour, Step: 2 * time.Hour}

// scene is an authority of two replicas with one clock, and the API server that they share.
type scene struct {
	t        *testing.T
	cluster  *kubetest.Cluster
	config   *rest.Config
	client   *kubernetes.Clientset // of a user with just the rights that are asked for
	clock    *clocktesting.FakeClock
	replicas []*certs.Authority
	metrics  *prometheus.Registry // of the first
}

const namespace, secretName = metav1.NamespaceDefault, "cardea-xds"

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{
		t: t, cluster: kubetest.Start(t, kubetest.Options{}), metrics: prometheus.NewRegistry(),
		clock: clocktesting.NewFakeClock(time.Now()),
	}
	const user, group = "certs", rbacv1.GroupName
	meta := metav1.ObjectMeta{Name: user}
	rbac := s.cluster.Client.RbacV1()
	if _, err := rbac.Roles(namespace).
		Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: certs.Rules(secretName)},
			metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: group, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.config = rest.CopyConfig(s.cluster.Config)
	s.config.Impersonate.UserName = user
	var err error
	if s.client, err = kubernetes.NewForConfig(s.config); err != nil {
		t.Fatal(err)
	}
	// the API server knows new permissions a moment later, and the test's clock would not advance for a retry
	s.await(func() error {
		_, err := s.client.CoreV1().Secrets(namespace).Get(t.Context(), secretName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the user may not read yet: %w", err)
	})
	return s
}

// run starts replicas, and returns when they have their certificates.
func (s *scene) run(n int) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	s.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	for range n {
		cfg := certs.Config{
			REST: s.config, Namespace: namespace, Name: secretName, DNSNames: []string{serverName}, Times: times,
			Clock: s.clock,
		}
		if len(s.replicas) == 0 {
			cfg.Metrics = s.metrics
		}
		a, err := certs.New(cfg)
		if err != nil {
			s.t.Fatal(err)
		}
		s.replicas = append(s.replicas, a)
		running.Go(func() { _ = a.Run(ctx) })
	}
	for _, a := range s.replicas {
		select {
		case <-a.WhenLoaded():
		case <-time.After(waitTimeout):
			s.t.Fatal("a replica has no certificate")
		}
	}
}

// await waits until the answer is nil.
func (s *scene) await(ask func() error) {
	s.t.Helper()
	var last error
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if last = ask(); last == nil {
			return
		}
	}
	s.t.Fatal(last)
}

// bundles waits until all replicas trust the same n authorities, and returns the bundle.
func (s *scene) bundles(n int) []byte {
	s.t.Helper()
	var bundle []byte
	s.await(func() error {
		bundle, _ = s.replicas[0].Bundle()
		for i, a := range s.replicas {
			if other, _ := a.Bundle(); !bytes.Equal(other, bundle) || bytes.Count(other, []byte("BEGIN")) != n {
				return fmt.Errorf("replica %d trusts\n%s\nthe first\n%s", i, other, bundle)
			}
		}
		return nil
	})
	return bundle
}

// pass advances the clock, once all replicas wait for it.
func (s *scene) pass(d time.Duration) {
	s.t.Helper()
	s.await(func() error {
		if !s.clock.HasWaiters() {
			return errors.New("nobody waits")
		}
		return nil
	})
	s.clock.Step(d)
}

// signedBy waits until each replica's certificate is signed by the n-th authority of the bundle, from 0.
func (s *scene) signedBy(bundle []byte, n int) {
	s.t.Helper()
	block := bytes.SplitAfter(bundle, []byte("END CERTIFICATE-----\n"))[n]
	for i := range s.replicas {
		s.await(func() error {
			_, err := s.connect(i, block)
			return err
		})
	}
}

// connect opens a connection to a replica's server that trusts a bundle, sends a text and reads it back.
func (s *scene) connect(replica int, bundle []byte) (tls.ConnectionState, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", s.replicas[replica].ServerConfig())
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer listener.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := listener.Accept()
		if err == nil {
			_, _ = io.CopyN(conn, conn, 4) // the client says what went wrong
			_ = conn.Close()
		}
	}()
	raw, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return tls.ConnectionState{}, err
	}
	conn := tls.Client(raw, &tls.Config{RootCAs: roots, ServerName: serverName, NextProtos: []string{"h2"},
		Time: s.clock.Now})
	word := make([]byte, 4)
	_, err = conn.Write([]byte("xds?"))
	if err == nil {
		_, err = io.ReadFull(conn, word)
	}
	state := conn.ConnectionState()
	_ = raw.Close()
	<-served
	if err == nil && (string(word) != "xds?" || state.NegotiatedProtocol != "h2") {
		err = fmt.Errorf("it says %q over %q", word, state.NegotiatedProtocol)
	}
	return state, err
}

// works opens connections to all replicas, with this bundle and with the one of the step before, which a proxy may
// still have.
func (s *scene) works(bundles ...[]byte) {
	s.t.Helper()
	for i := range s.replicas {
		for _, bundle := range bundles {
			if _, err := s.connect(i, bundle); err != nil {
				s.t.Errorf("replica %d: %v", i, err)
			}
		}
	}
}

// step checks that the metric shows one step.
func (s *scene) step(want string) {
	s.t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "cardea_certs_step" {
				found[m.Label[1].GetValue()] = m.Gauge.GetValue()
			}
		}
	}
	if len(found) != 3 || found[want] != 1 || found["steady"]+found["introduced"]+found["switched"] != 1 {
		s.t.Errorf("the metric shows %v, want %s", found, want)
	}
}

// TestRotation takes three replicas, which start at once on nothing, through a rotation. In each step they agree, and
// streams work with the bundle of the step and with that of the step before.
func TestRotation(t *testing.T) {
	s := newScene(t)
	s.run(3)
	first := s.bundles(1)
	s.works(first)
	s.step("steady")
	_, changed := s.replicas[1].Bundle()

	s.pass(61 * time.Hour)
	both := s.bundles(2)
	select {
	case <-changed:
	default:
		t.Error("the new bundle was not reported")
	}
	s.signedBy(both, 0)
	s.works(first, both)
	s.step("introduced")

	s.pass(2 * time.Hour)
	s.await(func() error {
		if b, _ := s.replicas[0].Bundle(); bytes.Equal(b, both) {
			return errors.New("it is not switched")
		}
		return nil
	})
	turned := s.bundles(2)
	s.signedBy(turned, 0)
	s.works(both, turned)
	s.step("switched")
	if _, err := s.connect(0, first); err == nil {
		t.Error("a proxy that trusts the old authority alone trusts the new one")
	}

	s.pass(2 * time.Hour)
	last := s.bundles(1)
	s.works(turned, last)
	s.step("steady")
	if !bytes.HasPrefix(turned, last) || !bytes.HasSuffix(both, last) {
		t.Error("the last authority is not the one that was introduced")
	}

	// One that starts now has what the others have.
	s.run(1)
	s.bundles(1)
	s.works(last)
}

// TestServerCertificateIsRenewed: it is renewed long before it expires, without a new authority.
func TestServerCertificateIsRenewed(t *testing.T) {
	s := newScene(t)
	s.run(1)
	bundle := s.bundles(1)
	before, err := s.connect(0, bundle)
	if err != nil {
		t.Fatal(err)
	}
	s.pass(6 * time.Hour)
	s.await(func() error {
		after, err := s.connect(0, bundle)
		if err == nil && after.PeerCertificates[0].Equal(before.PeerCertificates[0]) {
			return errors.New("it is the old one")
		}
		return err
	})
}

// TestServerCertificateIsRenewedAlone: the replica has the key, so it needs no API server to renew its certificate.
func TestServerCertificateIsRenewedAlone(t *testing.T) {
	s := newScene(t)
	s.run(1)
	bundle := s.bundles(1)
	s.cluster.StopAPIServer()
	for range 4 { // longer than a certificate lives
		s.pass(6 * time.Hour)
		s.await(func() error {
			state, err := s.connect(0, bundle)
			if err == nil && s.clock.Since(state.PeerCertificates[0].NotBefore) > 2*time.Hour {
				return errors.New("it is the old one")
			}
			return err
		})
	}
}

// TestSecretInTrouble: a Secret that was deleted, or overwritten with invalid contents, is restored.
func TestSecretInTrouble(t *testing.T) {
	s := newScene(t)
	s.run(2)
	bundle := s.bundles(1)
	secrets := s.cluster.Client.CoreV1().Secrets(namespace)
	restored := func(before *corev1.Secret) {
		t.Helper()
		s.await(func() error {
			now, err := secrets.Get(t.Context(), secretName, metav1.GetOptions{})
			if err == nil && !bytes.Equal(now.Data["signer.crt"], before.Data["signer.crt"]) {
				err = errors.New("it is another one")
			}
			return err
		})
		if now := s.bundles(1); !bytes.Equal(now, bundle) {
			t.Errorf("the bundle is another one:\n%s", now)
		}
		s.works(bundle)
	}
	before, err := secrets.Get(t.Context(), secretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := secrets.Delete(t.Context(), secretName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	restored(before)
	s.await(func() error { // somebody may be writing it
		broken, err := secrets.Get(t.Context(), secretName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		broken.Data = map[string][]byte{"signer.crt": []byte("nonsense")}
		_, err = secrets.Update(t.Context(), broken, metav1.UpdateOptions{})
		return err
	})
	restored(before)
}
