package main

import (
	"fmt"
	"strings"
)

// way is how an endpoint is chosen for the requests to a host, NAME.example.com.
type way struct {
	name   string
	ports  []int // of the servers
	pool   bool  // it is an InferencePool: least request, or its picker; else a Service: round robin
	picker int   // the port of the pool's picker; 0: it has none
}

func (w way) host() string { return w.name + ".example.com" }

// text is the way's objects. A pool has each server as a port of one pod.
func (w way) text() string {
	text := fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[1]s, namespace: bench}
spec:
  parentRefs: [{name: web}]
  hostnames: [%[2]s]
  rules: [{backendRefs: [%[3]s]}]
`, w.name, w.host(), w.backend())
	if !w.pool {
		return text + service(w.name, w.ports...)
	}
	var ports []string
	for _, p := range w.ports {
		ports = append(ports, fmt.Sprintf("{number: %d}", p))
	}
	annotations, ref := "annotations: {inference.cardea.dev/picker: None}", ""
	if w.picker != 0 {
		annotations = ""
		ref = fmt.Sprintf("endpointPickerRef: {name: picker-%s, port: {number: 80}, failureMode: FailOpen}", w.name)
		text += service("picker-"+w.name, w.picker)
	}
	return text + fmt.Sprintf(`---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata:
  name: %[1]s
  namespace: bench
  %[3]s
spec:
  selector: {matchLabels: {app: %[1]s}}
  targetPorts: [%[2]s]
  %[4]s
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pool-%[1]s, namespace: bench, labels: {cardea.dev/inferencepool: %[1]s}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: []
`, w.name, strings.Join(ports, ", "), annotations, ref)
}

func (w way) backend() string {
	if w.pool {
		return fmt.Sprintf("{group: inference.networking.k8s.io, kind: InferencePool, name: %s}", w.name)
	}
	return fmt.Sprintf("{name: %s, port: 80}", w.name)
}

// service is a Service with an endpoint for each port of this machine.
func service(name string, ports ...int) string {
	text := fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: bench}
spec: {ports: [{port: 80}]}
`, name)
	for i, port := range ports {
		text += fmt.Sprintf(`---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-%[2]d, namespace: bench, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: %[3]d}]
`, name, i, port)
	}
	return text
}
