package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/test/kubetest"
	"cardea.dev/cardea/internal/test/testcert"
)

// What docs/identity.md names.
const (
	identitySigner = "cardea.dev/identity"
	identityBundle = "cardea.dev:identity:bundle"
	identitySecret = "cardea-identity"
)

// TestIdentity: pods get certificates of their ServiceAccounts and call a Gateway that trusts their ClusterTrustBundle.
// An AccessPolicy lets one ServiceAccount in and not the other. Then the authority rotates: no request is lost, and a
// connection that is open stays open.
func TestIdentity(t *testing.T) {
	s := newStage(t)
	address := s.identified()
	agent, visitor := s.caller("agent", address), s.caller("visitor", address)
	agent.gets(200)
	visitor.gets(403)
	s.step("the two are told apart")
	if conn, err := tls.Dial("tcp", address+":443", strangerTo("shop.example")); err == nil {
		if newLine(conn).ask("shop.example") == nil {
			t.Error("who shows no certificate is served")
		}
		_ = conn.Close()
	}
	s.denied()

	next := testcert.NewAuthority("Cardea identity of the test")
	former := s.authorities(1)
	s.edit(func(data map[string][]byte) {
		data["next.crt"], data["next.key"] = next.Certificate, next.PrivateKey
		data["since"] = since(0)
	})
	both := s.authorities(2)
	kept := s.as("agent", address, next)
	s.step("the next authority is trusted")
	s.edit(func(data map[string][]byte) { data["since"] = since(48 * time.Hour) })
	s.until("the next authority signs", func() (string, bool) {
		text := s.authorities(2)
		return text, strings.HasPrefix(text, string(next.Certificate))
	})
	s.renewed(agent, next)
	s.renewed(visitor, next)
	s.step("pods have certificates of the next authority")
	s.edit(func(data map[string][]byte) { data["since"] = since(48 * time.Hour) })
	last := s.authorities(1)
	if last == former || !strings.Contains(both, last) {
		t.Errorf("the bundle is\n%s\nof\n%s", last, both)
	}
	agent.moves(20)
	visitor.moves(5)
	if err := kept.ask("shop.example"); err != nil {
		t.Errorf("a connection that was open all the time: %v", err)
	}
	agent.flawless("200")
	visitor.flawless("403")
}

// identified is a shop whose HTTPS listener lets in the pods of ServiceAccount agent and nobody else.
func (s *stage) identified() (address string) {
	s.Helper()
	s.secret("cert", corev1.SecretTypeTLS, testcert.SelfSigned("shop.example").SecretData())
	address = s.shop("edge", "listeners: [{name: http, port: 80, protocol: HTTP}, "+
		"{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}]",
		"tls: {frontend: {default: {validation: {caCertificateRefs: "+
			"[{group: certificates.k8s.io, kind: ClusterTrustBundle, name: \""+identityBundle+"\"}]}}}}")
	s.apply(fmt.Sprintf(`apiVersion: cardea.dev/v1alpha1
kind: AccessPolicy
metadata: {name: agents, namespace: %s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge, sectionName: https}]
  rules: [{name: agent, sources: [{type: ServiceAccount, serviceAccount: {name: agent}}]}]
`, s.namespace))
	s.listenerIs("edge", "https", "Accepted=True", "ResolvedRefs=True", "Programmed=True")
	return address
}

// identifiedPod states a ServiceAccount and a pod that runs as it, with a certificate.
func identifiedPod(namespace, name, keyType, command string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[2]s, namespace: %[1]s}
---
apiVersion: v1
kind: Pod
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  serviceAccountName: %[2]s
  terminationGracePeriodSeconds: 0
  containers:
  - name: caller
    image: %[5]s
    command: [sh, -c, "%[4]s"]
    volumeMounts: [{name: identity, mountPath: /identity}]
  volumes:
  - name: identity
    projected:
      sources:
      - podCertificate: {signerName: %[6]s, keyType: %[3]s, credentialBundlePath: credentials.pem}
      - clusterTrustBundle: {signerName: %[6]s, labelSelector: {}, path: ca.pem}
`, namespace, name, keyType, command, kubetest.EchoImage, identitySigner)
}

// caller is a pod that asks the Gateway all the time, each time over a new connection, and tells with which
// certificate.
type caller struct {
	*stage
	name string
}

func (s *stage) caller(name, address string) caller {
	s.Helper()
	command := "while :; do cp /identity/credentials.pem /tmp/id.pem && curl -sk -m 10 -o /dev/null -w '%{http_code} ' " +
		"--resolve shop.example:443:" + address + " --cert /tmp/id.pem https://shop.example/; cksum < /tmp/id.pem; " +
		"sleep 0.1; done"
	s.apply(identifiedPod(s.namespace, name, "ECDSAP256", command))
	return caller{s, name}
}

// lines are what it has told: the code, and the checksum of its certificate.
func (c caller) lines() []string {
	text, err := c.Client.CoreV1().Pods(c.namespace).GetLogs(c.name, &corev1.PodLogOptions{}).DoRaw(context.Background())
	if err != nil {
		return nil // it does not run yet
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	return strings.FieldsFunc(string(whole), func(r rune) bool { return r == '\n' })
}

func (c caller) gets(code int) {
	c.Helper()
	c.until(fmt.Sprintf("%s gets %d", c.name, code), func() (string, bool) {
		lines := c.lines()
		if len(lines) == 0 {
			return "nothing", false
		}
		last := lines[len(lines)-1]
		return last, strings.HasPrefix(last, fmt.Sprint(code))
	})
}

// moves waits until it was answered n times more.
func (c caller) moves(n int) {
	c.Helper()
	from := len(c.lines())
	c.until(c.name+" asks", func() (string, bool) { return "", len(c.lines()) >= from+n })
}

// flawless checks that it got one answer all the time, but for the start, when the policy may be on its way.
func (c caller) flawless(code string) {
	c.Helper()
	begun := false
	for i, line := range c.lines() {
		is := strings.HasPrefix(line, code+" ")
		begun = begun || is
		if begun && !is {
			c.Errorf("%s: answer %d is %q, want %s", c.name, i, line, code)
		}
	}
}

func (s *stage) setClock(ahead time.Duration) {
	s.Helper()
	if err := s.SetClock(ahead); err != nil {
		s.Fatal(err)
	}
}

// renewed brings the time of a pod's renewal, and waits until it calls with a certificate of an authority.
func (s *stage) renewed(c caller, by testcert.Pair) {
	s.Helper()
	lines := c.lines()
	_, before, _ := strings.Cut(lines[len(lines)-1], " ")
	s.setClock(13 * time.Hour)
	defer s.setClock(0)
	poke := fmt.Appendf(nil, `{"metadata":{"annotations":{"test":"%d"}}}`, time.Now().UnixNano())
	if _, err := s.Client.CoreV1().Pods(s.namespace).Patch(context.Background(), c.name, types.MergePatchType, poke,
		metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
	s.until(c.name+" has a new certificate", func() (string, bool) {
		lines := c.lines()
		_, now, _ := strings.Cut(lines[len(lines)-1], " ")
		return now, now != before
	})
	roots := x509.NewCertPool()
	roots.AddCert(by.Leaf)
	requests, err := s.Client.CertificatesV1beta1().PodCertificateRequests(s.namespace).List(context.Background(),
		metav1.ListOptions{FieldSelector: "spec.podName=" + c.name})
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range requests.Items {
		if signedBy(r, roots) {
			return
		}
	}
	s.Errorf("none of %d certificates of %s is of the next authority", len(requests.Items), c.name)
}

func signedBy(r certificatesv1beta1.PodCertificateRequest, roots *x509.CertPool) bool {
	block, _ := pem.Decode([]byte(r.Status.CertificateChain))
	if block == nil {
		return false
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err == nil
}

// denied: a pod that wants another key does not start, and says why.
func (s *stage) denied() {
	s.Helper()
	s.apply(identifiedPod(s.namespace, "edwards", "ED25519", "exec sleep 1000"))
	const why = "Denied, UnsupportedKeyType: the key is ED25519; state keyType: ECDSAP256"
	s.until("the reason is told", func() (string, bool) {
		pod, err := s.Client.CoreV1().Pods(s.namespace).Get(context.Background(), "edwards", metav1.GetOptions{})
		if err != nil || len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Waiting == nil {
			return fmt.Sprint(err), false
		}
		said := pod.Status.ContainerStatuses[0].State.Waiting.Message
		return said, strings.Contains(said, why)
	})
}

// authorities waits until the ClusterTrustBundle has n of them, and returns it.
func (s *stage) authorities(n int) (text string) {
	s.Helper()
	s.until(fmt.Sprintf("%d authorities are trusted", n), func() (string, bool) {
		b, err := s.Client.CertificatesV1beta1().ClusterTrustBundles().Get(context.Background(), identityBundle,
			metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		text = b.Spec.TrustBundle
		return text, strings.Count(text, "BEGIN") == n
	})
	return text
}

// edit changes the Secret of the authority, which Cardea keeps.
func (s *stage) edit(change func(data map[string][]byte)) {
	s.Helper()
	secrets := s.Client.CoreV1().Secrets(system)
	s.until("the Secret is edited", func() (string, bool) {
		secret, err := secrets.Get(context.Background(), identitySecret, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		change(secret.Data)
		_, err = secrets.Update(context.Background(), secret, metav1.UpdateOptions{})
		return fmt.Sprint(err), err == nil
	})
}

// since is when a step of a rotation began, as the Secret has it.
func since(ago time.Duration) []byte {
	return []byte(time.Now().Add(-ago).UTC().Format(time.RFC3339Nano))
}

// as opens a connection with a certificate of a ServiceAccount that an authority signs, and uses it.
func (s *stage) as(account, address string, authority testcert.Pair) (l *line) {
	s.Helper()
	id := &url.URL{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/" + s.namespace + "/sa/" + account}
	pair := testcert.New(x509.Certificate{
		URIs: []*url.URL{id}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &authority)
	config := strangerTo("shop.example")
	config.Certificates = []tls.Certificate{pair.TLSCertificate()}
	s.until("a certificate of the next authority is taken", func() (string, bool) {
		conn, err := tls.Dial("tcp", address+":443", config)
		if err != nil {
			return err.Error(), false
		}
		l = newLine(conn)
		err = l.ask("shop.example")
		return fmt.Sprint(err), err == nil
	})
	s.Cleanup(func() { _ = l.Close() })
	return l
}

func strangerTo(host string) *tls.Config {
	return &tls.Config{ServerName: host, InsecureSkipVerify: true}
}
