package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cardea.dev/cardea/internal/test/e2e"
	"cardea.dev/cardea/internal/test/kubetest"
	"cardea.dev/cardea/internal/test/testcert"
)

// toolsHost is the host of all Gateways before the server of tools.
const toolsHost = "tools.example"

// tester is the ServiceAccount of all agents.
const tester = "tester"

// tools starts the reference server of MCP, and Gateways before it that know agents by the certificates of their pods.
func (s *stage) tools(gateways ...string) {
	s.Helper()
	server := pod(s.namespace, "everything", e2e.ReferenceServer(s))
	server.Labels = map[string]string{"app": "everything"}
	container := &server.Spec.Containers[0]
	container.Env = append(container.Env, corev1.EnvVar{Name: "PORT", Value: "3000"})
	container.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(3000)},
	}, PeriodSeconds: 1}
	s.create(server)
	authority := testcert.NewAuthority("tools")
	s.secret("cert", corev1.SecretTypeTLS, authority.NewServer(toolsHost).SecretData())
	s.secret("authority", corev1.SecretTypeOpaque, map[string][]byte{"ca.crt": authority.Certificate})
	objects := dataPlane(s.namespace, "small", "{pod: {drainSeconds: 1}}") +
		service(s.namespace, "everything", "everything")
	for _, name := range gateways {
		objects += gateway(s.namespace, name, small, "listeners: [{name: https, port: 443, protocol: HTTPS, tls: "+
			"{certificateRefs: [{name: cert}]}}], tls: {frontend: {default: {validation: {caCertificateRefs: "+
			"[{group: certificates.k8s.io, kind: ClusterTrustBundle, name: \""+identityBundle+"\"}]}}}}")
	}
	s.apply(objects + fmt.Sprintf(`---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[2]s, namespace: %[1]s}
---
apiVersion: agentic.networking.x-k8s.io/v0alpha0
kind: XBackend
metadata: {name: tools, namespace: %[1]s}
spec: {mcp: {serviceName: everything, port: 80}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: tools, namespace: %[1]s}
spec:
  parentRefs: [%[3]s]
  rules:
  - matches: [{path: {value: /mcp}}]
    backendRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: tools}]
`, s.namespace, tester, "{name: "+strings.Join(gateways, "}, {name: ")+"}"))
	s.ready(s.namespace, "app=everything", 1)
	for _, name := range gateways {
		s.address(name)
	}
}

// pod is one that runs a program of this machine, and nothing else of it.
func pod(namespace, name string, program e2e.Agent, args ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	p.Spec.RestartPolicy, p.Spec.TerminationGracePeriodSeconds = corev1.RestartPolicyNever, new(int64)
	c := corev1.Container{Name: "program", Image: kubetest.EchoImage, Command: slices.Concat(program.Command, args)}
	for _, v := range program.Env {
		key, value, _ := strings.Cut(v, "=")
		c.Env = append(c.Env, corev1.EnvVar{Name: key, Value: value})
	}
	for i, path := range program.Files {
		name := fmt.Sprintf("file-%d", i)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: true})
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: path},
		}})
	}
	p.Spec.Containers = []corev1.Container{c}
	return p
}

func (s *stage) create(p *corev1.Pod) {
	s.Helper()
	if _, err := s.Client.CoreV1().Pods(s.namespace).Create(s.Context(), p, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// session runs an agent in a pod of the ServiceAccount tester, with a certificate of the cluster: it makes a session
// through a Gateway, and does what the lines say. It returns what came of each, or what the agent said when it failed.
func (s *stage) session(gateway, name string, agent e2e.Agent, lines ...string) (told []string, ok bool) {
	s.Helper()
	const script = `printf '%s\n' "$LINES" | exec "$@"`
	command := slices.Concat([]string{"sh", "-c", script, "sh"}, agent.Command, []string{"https://" + toolsHost + "/mcp"})
	return s.outcome(s.tester(gateway, name, e2e.Agent{
		Command: command, Files: agent.Files, Env: append(slices.Clone(agent.Env), "LINES="+strings.Join(lines, "\n")),
	}))
}

// tester is a pod of the ServiceAccount tester that knows a Gateway's address and whom to trust.
func (s *stage) tester(gateway, name string, program e2e.Agent) *corev1.Pod {
	s.Helper()
	program.Env = append(slices.Clone(program.Env), "CA=/authority/ca.crt", "CERT=/identity/credentials.pem",
		"KEY=/identity/credentials.pem", "ADDRESS="+s.address(gateway)+":443")
	p := pod(s.namespace, gateway+"-"+name, program)
	p.Spec.ServiceAccountName = tester
	c := &p.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "authority", MountPath: "/authority"},
		corev1.VolumeMount{Name: "identity", MountPath: "/identity"})
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "authority", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "authority"},
	}}, corev1.Volume{Name: "identity", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{PodCertificate: &corev1.PodCertificateProjection{
			SignerName: identitySigner, KeyType: "ECDSAP256", CredentialBundlePath: "credentials.pem",
		}}},
	}}})
	return p
}

// outcome runs a pod to its end, and returns what it told.
func (s *stage) outcome(p *corev1.Pod) (lines []string, ok bool) {
	s.Helper()
	s.create(p)
	pods := s.Client.CoreV1().Pods(s.namespace)
	s.until("pod "+p.Name+" has ended", func() (string, bool) {
		now, err := pods.Get(context.Background(), p.Name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		ok = now.Status.Phase == corev1.PodSucceeded
		return statusText(now.Status), ok || now.Status.Phase == corev1.PodFailed
	})
	text, err := pods.GetLogs(p.Name, &corev1.PodLogOptions{}).DoRaw(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), ok
}

// rawAgent sends requests without an SDK: its lines are METHOD BODY, and an answer is STATUS BODY. The session that an
// answer names is that of the requests that follow.
var rawAgent = e2e.Agent{Name: "curl", Command: []string{"sh", "-c", `while read -r method body; do
curl -sS -D /tmp/headers -o /tmp/body -w '%{http_code} ' --cacert "$CA" --cert "$CERT" --connect-to "::$ADDRESS" \
	-X "$method" ${session:+-H "mcp-session-id: $session"} -H 'mcp-protocol-version: 2025-11-25' \
	-H 'content-type: application/json' -H 'accept: application/json, text/event-stream' ${body:+--data-raw "$body"} "$1"
tr -d '\r\n' </tmp/body; echo
session=${session:-$(sed -n 's/^mcp-session-id: *//Ip' /tmp/headers | tr -d '\r')}
done`, "sh"}}

// initialize begins a session of rawAgent.
const initialize = `POST {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// inOrder tells whether a text has words in this order, which stand between "...".
func inOrder(text, words string) bool {
	for part := range strings.SplitSeq(words, "...") {
		i := strings.Index(text, strings.TrimSpace(part))
		if i < 0 {
			return false
		}
		text = text[i:]
	}
	return true
}

// does lets an agent make a session, and checks what came of each line: lines and words of the answers alternate.
func (s *stage) does(gateway, name string, agent e2e.Agent, linesAndWanted ...string) {
	s.Helper()
	var lines []string
	for i := 0; i < len(linesAndWanted); i += 2 {
		lines = append(lines, linesAndWanted[i])
	}
	got, ok := s.session(gateway, name, agent, lines...)
	if !ok || len(got) != len(lines) {
		s.Errorf("%s at %s: %v, %q of %q", agent.Name, gateway, ok, got, lines)
		return
	}
	for i, line := range lines {
		if want := linesAndWanted[2*i+1]; !inOrder(got[i], want) {
			s.Errorf("%s at %s: %s: %q, want %q", agent.Name, gateway, line, got[i], want)
		}
	}
}
