package kubernetes

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"cardea.dev/cardea/internal/test/kubetest"
)

// The namespaces of the inference suite.
const (
	infraNamespace = "inference-conformance-infra"
	poolsNamespace = "inference-conformance-app-backend"
)

// The Gateways of the inference suite, and their hosts. The second one has a listener for its host.
const (
	firstGateway, firstHost   = "conformance-primary", "primary.example.com"
	secondGateway, secondHost = "conformance-secondary", "secondary.example.com"
)

// inference is what the tests of the inference suite share.
type inference struct {
	*stage                      // in the namespace of pods, pools and routes
	addresses map[string]string // of Gateways
	pools     dynamic.ResourceInterface
	pods      map[string][]corev1.Pod // by app
}

// testedPool is one of the five pools with a picker of their own.
type testedPool struct {
	name, app string
	ports     []int
	more      string // fields of its spec
	failure   string // its failureMode
}

var testedPools = []testedPool{
	{name: "primary", app: "primary", ports: []int{3000}, failure: "FailClose"},
	{name: "secondary", app: "secondary", ports: []int{3000}, failure: "FailOpen"},
	{name: "h2c", app: "app-protocol", ports: []int{3001}, more: ", appProtocol: kubernetes.io/h2c", failure: "FailClose"},
	{name: "http", app: "app-protocol", ports: []int{3000}, more: ", appProtocol: http", failure: "FailClose"},
	{name: "data-parallel", app: "data-parallel", ports: []int{3000, 3002, 3004}, failure: "FailClose"},
}

// poolNamed is the index of a pool in testedPools; -1 if there is none.
func poolNamed(name string) int {
	return slices.IndexFunc(testedPools, func(p testedPool) bool { return p.name == name })
}

// replicas is how many pods each of the four Deployments has.
const replicas = 3

func newInference(t *testing.T) *inference {
	t.Helper()
	infra := stageIn(t, infraNamespace)
	s := &inference{stage: stageIn(t, poolsNamespace), addresses: map[string]string{}, pods: map[string][]corev1.Pod{}}
	client, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	s.pools = client.Resource(poolResource).Namespace(s.namespace)
	const allowed = "allowedRoutes: {namespaces: {from: All}}"
	objects := dataPlane(infra.namespace, "small", "{pod: {drainSeconds: 1}}") +
		gateway(infra.namespace, firstGateway, small, "listeners: [{name: http, port: 80, protocol: HTTP, "+allowed+"}]") +
		gateway(infra.namespace, secondGateway, small, "listeners: [{name: http, port: 80, protocol: HTTP, hostname: "+
			secondHost+", "+allowed+"}]")
	apps := map[string][]int{
		"primary": {3000}, "secondary": {3000}, "app-protocol": {3000}, "data-parallel": {3000, 3002, 3004},
	}
	for app, ports := range apps {
		objects += modelServers(s.namespace, app, replicas, ports...)
	}
	for _, p := range testedPools {
		objects += p.objects()
	}
	s.apply(objects)
	for app := range apps {
		s.pods[app] = s.ready(s.namespace, "app="+app, replicas)
	}
	for _, p := range testedPools {
		s.create(s.picker(p))
	}
	for _, p := range testedPools {
		s.ready(s.namespace, "app="+p.pickerApp(), 1)
	}
	for _, name := range []string{firstGateway, secondGateway} {
		s.addresses[name] = infra.address(name)
	}
	return s
}

// addressesOf are those of some pods of an app, by commas.
func (s *inference) addressesOf(app string, pods ...int) string {
	var list []string
	for _, i := range pods {
		list = append(list, s.pods[app][i].Status.PodIP)
	}
	return strings.Join(list, ",")
}

func (p testedPool) pickerApp() string { return p.name + "-picker" }

// objects states the pool and the Service of its picker.
func (p testedPool) objects() string {
	return inferencePool(poolsNamespace, p.name, p.app, p.ports, p.more+fmt.Sprintf(
		", endpointPickerRef: {name: %s, port: {number: %d}, failureMode: %s}", p.pickerApp(), pickerPort, p.failure,
	)) + fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s}
spec: {selector: {app: %[2]s}, ports: [{port: %[3]d, appProtocol: http2}]}
`, poolsNamespace, p.pickerApp(), pickerPort)
}

// picker is the pod of a pool's picker.
func (s *inference) picker(p testedPool) *corev1.Pod {
	s.Helper()
	var members []string
	for _, pod := range s.pods[p.app] {
		for _, port := range p.ports {
			members = append(members, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port)))
		}
	}
	return s.pickerPod(p.pickerApp(), p.name, members)
}

// modelServers states a Deployment of echo servers, each with a container for each port of HTTP; the port after it is
// for HTTP/2.
func modelServers(namespace, name string, replicas int, ports ...int) string {
	var containers []string
	for _, port := range ports {
		containers = append(containers, fmt.Sprintf(`      - name: http-%[1]d
        image: %[2]s
        readinessProbe: {httpGet: {path: /, port: %[1]d}, periodSeconds: 1}
        env:
        - {name: HTTP_PORT, value: "%[1]d"}
        - {name: H2C_PORT, value: "%[3]d"}
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
`, port, kubetest.EchoImage, port+1))
	}
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
%[4]s`, namespace, name, replicas, strings.Join(containers, ""))
}

// inferencePool states an InferencePool of the pods of an app.
func inferencePool(namespace, name, app string, ports []int, more string) string {
	var targets []string
	for _, port := range ports {
		targets = append(targets, fmt.Sprintf("{number: %d}", port))
	}
	return fmt.Sprintf(`---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: %s, namespace: %s}
spec: {selector: {matchLabels: {app: %s}}, targetPorts: [%s]%s}
`, name, namespace, app, strings.Join(targets, ", "), more)
}

// route applies an HTTPRoute at a Gateway, until the test ends.
func (s *inference) route(name, gateway, host string, rules ...string) {
	s.Helper()
	s.apply(fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: %s}
spec:
  parentRefs: [{name: %s, namespace: %s}]
  hostnames: [%s]
  rules: [%s]
`, name, s.namespace, gateway, infraNamespace, host, strings.Join(rules, ", ")))
	s.Cleanup(func() {
		// One that the test has deleted is not there.
		_ = s.api.GatewayV1().HTTPRoutes(s.namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// toPools is a rule for the paths below one: references have the name of a pool, and maybe more fields.
func toPools(path string, references ...string) string {
	var refs []string
	for _, r := range references {
		refs = append(refs, "{group: inference.networking.k8s.io, kind: InferencePool, name: "+r+"}")
	}
	return fmt.Sprintf("{matches: [{path: {value: %s}}], backendRefs: [%s]}", path, strings.Join(refs, ", "))
}
