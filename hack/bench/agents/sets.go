package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cardea.dev/cardea/internal/test/testcert"
)

// set is a Gateway, a server of tools behind it, and who may call them.
type set struct {
	name           string // of both
	callers, tools int    // all callers may call all tools, which rules name
	each           bool   // each caller has a rule of its own; else one has them all
	pass           bool   // toolsList: Pass
	policy         string // the rules, if they are others
}

// The sets with which the others are compared.
var (
	none   = set{name: "none"}
	parser = set{name: "parser", policy: "\n  - {name: all}", pass: true} // requests are read, and everything is allowed
)

// compared are the sets that are measured; callers are known by certificates.
var compared = func() (list []set) {
	for _, callers := range []int{1, 100, 1000} {
		for _, tools := range []int{10, 200} {
			list = append(list, set{name: fmt.Sprintf("c%d-t%d", callers, tools), callers: callers, tools: tools})
		}
	}
	for _, callers := range []int{100, 1000} {
		list = append(list, set{name: fmt.Sprintf("r%d", callers), callers: callers, tools: 10, each: true})
	}
	for _, each := range []bool{false, true} {
		list = append(list, set{name: fmt.Sprintf("pass-%v", each), callers: 1000, tools: 10, each: each, pass: true})
	}
	return list
}()

const (
	host        = "tools.example.com"
	trustDomain = "cluster.local"
	// tool is the one that is called, which rules name last.
	tool = "last-tool"
)

func callerName(i int) string { return fmt.Sprintf("caller-%03d", i) }

func callerID(i int) string {
	return fmt.Sprintf("spiffe://%s/ns/bench/sa/%s", trustDomain, callerName(i))
}

// rules are those of the set's policy; "" if it has none.
func (s set) rules() string {
	if s.callers == 0 {
		return s.policy
	}
	var names []string
	for i := range s.tools - 1 {
		names = append(names, fmt.Sprintf("{value: tool-%03d}", i))
	}
	params := strings.Join(append(names, "{value: "+tool+"}"), ", ")
	var text strings.Builder
	rule := func(name string, sources []string) {
		fmt.Fprintf(&text, `
  - name: %s
    sources: [%s]
    authorization: {type: Inline, mcp: {methods: [{name: tools/call, params: [%s]}]}}`,
			name, strings.Join(sources, ", "), params)
	}
	var all []string
	for i := range s.callers {
		source := fmt.Sprintf("{type: ServiceAccount, serviceAccount: {name: %s}}", callerName(i))
		if all = append(all, source); s.each {
			rule(callerName(i), []string{source})
		}
	}
	if !s.each {
		rule("all", all)
	}
	return text.String()
}

// text is the set's objects.
func (s set) text(port int) string {
	text := fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %[1]s, namespace: bench}
spec:
  gatewayClassName: cardea
  tls: {frontend: {default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: authority}]}}}}
  listeners: [{name: https, port: %[2]d, protocol: HTTPS, tls: {certificateRefs: [{name: tools}]}}]
---
apiVersion: agentic.networking.x-k8s.io/v0alpha0
kind: XBackend
metadata: {name: %[1]s, namespace: bench}
spec: {mcp: {serviceName: tools, port: 80, path: /}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[1]s, namespace: bench}
spec:
  parentRefs: [{name: %[1]s}]
  hostnames: [%[3]s]
  rules:
  - name: tools
    matches: [{path: {value: /mcp}}]
    backendRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: %[1]s}]
`, s.name, port, host)
	list := "Filter"
	if s.pass {
		list = "Pass"
	}
	if rules := s.rules(); rules != "" {
		text += fmt.Sprintf(`---
apiVersion: cardea.dev/v1alpha1
kind: AccessPolicy
metadata: {name: %[1]s, namespace: bench}
spec:
  targetRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: %[1]s}]
  toolsList: %[2]s
  rules:%[3]s
`, s.name, list, rules)
	}
	return text
}

// write makes the folder of all sets, at these ports.
func write(dir string, sets []set, ports []int, backend int, authority testcert.Pair) error {
	files := map[string]string{"tools.yaml": fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: tools, namespace: bench}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: tools, namespace: bench, labels: {kubernetes.io/service-name: tools}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: %d}]
`, backend)}
	server := authority.NewServer(host)
	for name, object := range map[string]map[string]any{
		"authority.yaml": {"kind": "ConfigMap", "data": map[string]string{"ca.crt": string(authority.Certificate)}},
		"secret.yaml": {"kind": "Secret", "type": "kubernetes.io/tls", "stringData": map[string]string{
			"tls.crt": string(server.Certificate), "tls.key": string(server.PrivateKey),
		}},
	} {
		object["apiVersion"] = "v1"
		object["metadata"] = map[string]string{"namespace": "bench", "name": map[string]string{
			"authority.yaml": "authority", "secret.yaml": "tools",
		}[name]}
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		files[name] = string(text)
	}
	for i, s := range sets {
		files[s.name+".yaml"] = s.text(ports[i])
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
