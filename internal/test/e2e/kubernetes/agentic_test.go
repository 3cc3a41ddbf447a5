package kubernetes

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/test/e2e"
	"cardea.dev/cardea/internal/test/kubetest"
)

// What is said to an agent of a tool, or of a whole session, that it may not have.
const forbidden = "Access to this tool is forbidden."

// Sources are written in YAML's flow style, and so are rules.
const base = "mcpBaseProtocolMethodsOption: MATCH_BASE_PROTOCOL_METHODS"

func call(tools string) string { return "methods: [{name: tools/call, params: [" + tools + "]}]" }

func (s *stage) ofTester() string {
	return "source: {type: ServiceAccount, serviceAccount: {name: " + tester + ", namespace: " + s.namespace + "}}"
}

func inline(mcp ...string) string {
	return "authorization: {type: Inline, mcp: {" + strings.Join(mcp, ", ") + "}}"
}

// xaccess applies an XAccessPolicy of v1alpha1 for a Gateway.
func (s *stage) xaccess(name, gateway, action string, rules ...string) {
	s.Helper()
	s.apply(fmt.Sprintf(`apiVersion: agentic.networking.x-k8s.io/v1alpha1
kind: XAccessPolicy
metadata: {name: %s, namespace: %s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: %s}]
  action: %s
  rules: [{name: rule, %s}]
`, name, s.namespace, gateway, action, strings.Join(rules, ", ")))
}

// asking is an action: a Service is asked.
func asking(service string) string {
	return "ExternalAuth\n  externalAuth: {protocol: GRPC, backendRef: {group: \"\", kind: Service, name: " + service +
		", port: 80}, grpc: {}}"
}

// The kinds of policies, as paths have them.
const (
	xaccessOld  = "agentic.networking.x-k8s.io/v0alpha0/xaccesspolicies"
	xaccessNew  = "agentic.networking.x-k8s.io/v1alpha1/xaccesspolicies"
	accessPaths = "cardea.dev/v1alpha1/accesspolicies"
)

// policyPath is where the API server has a policy.
func (s *stage) policyPath(kind, name string) string {
	i := strings.LastIndex(kind, "/")
	return "/apis/" + kind[:i] + "/namespaces/" + s.namespace + kind[i:] + "/" + name
}

// policyIs waits until a policy has one ancestor, and conditions there for the policy as it is now.
func (s *stage) policyIs(kind, name string, conditions ...string) {
	s.Helper()
	path := s.policyPath(kind, name)
	s.until(kind+" "+name+" is "+strings.Join(conditions, ", "), func() (string, bool) {
		var p struct {
			APIVersion string
			Metadata   metav1.ObjectMeta
			Status     gatewayv1.PolicyStatus
		}
		text, err := s.Client.RESTClient().Get().AbsPath(path).Do(s.Context()).Raw()
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return err.Error(), false
		}
		return statusText(p.Status), strings.HasPrefix(kind, p.APIVersion+"/") && len(p.Status.Ancestors) == 1 &&
			has(p.Status.Ancestors[0].Conditions, p.Metadata.Generation, conditions...)
	})
}

// TestAgenticConformance has the ten tests of the conformance suite of agentic.networking.x-k8s.io, by their names:
// what each requires holds before the reference server, asked by agents with the certificates of their pods.
func TestAgenticConformance(t *testing.T) {
	s := newStage(t)
	agents := e2e.Agents(t)
	s.tools("match", "skip", "account", "spiffe", "logic", "status", "limit", "pruned")
	authorizer := s.authorizer("echo")
	tests := []struct {
		name string
		run  func(*stage)
	}{
		{"XAccessPolicyAccepted", func(s *stage) {
			s.xaccess("accepted", "status", "Allow", s.ofTester(), inline(call("get-sum")))
			s.policyIs(xaccessOld, "accepted", "Accepted=True Accepted")
		}},
		{"XAccessPolicyAllowAccepted", func(s *stage) {
			s.xaccess("allow-accepted", "status", "Allow", s.ofTester(), inline(call("get-sum")))
			s.policyIs(xaccessNew, "allow-accepted", "Accepted=True Accepted")
		}},
		{"XAccessPolicyProgrammed", func(s *stage) {
			s.xaccess("programmed", "status", "Allow", s.ofTester(), inline(call("get-sum")))
			s.policyIs(xaccessNew, "programmed", "Accepted=True Accepted", "Programmed=True Programmed", programmed+"=True")
		}},
		{"XAccessPolicyBaseProtocolMatch", func(s *stage) { s.baseProtocolMatch(agents) }},
		{"XAccessPolicyBaseProtocolSkip", func(s *stage) {
			s.xaccess("skip", "skip", "Allow", s.ofTester(), inline(
				"mcpBaseProtocolMethodsOption: SKIP_BASE_PROTOCOL_METHODS", call("some-other-tool")))
			s.policyIs(xaccessNew, "skip", "Accepted=True Accepted", programmed+"=True")
			for _, agent := range agents {
				s.noSession("skip", strings.ToLower(agent.Name), agent)
			}
			s.does("skip", "raw", rawAgent, initialize, `200 {"error":{"code":403,"message":"`+forbidden+`"},"id":1`)
		}},
		{"XAccessPolicySAMatching", func(s *stage) {
			s.xaccess("account", "account", "Allow", s.ofTester(), inline(base, call("get-sum")))
			s.sumsOnly("account", agents)
		}},
		{"XAccessPolicySPIFFEMatching", func(s *stage) {
			s.xaccess("spiffe", "spiffe", "Allow", "source: {type: SPIFFE, spiffe: 'spiffe://cluster.local/ns/"+
				s.namespace+"/sa/"+tester+"'}", inline(base, call("get-sum")))
			s.sumsOnly("spiffe", agents)
		}},
		{"XAccessPolicyExtAuthAccepted", func(s *stage) {
			s.xaccess("ask-accepted", "status", asking("absent"), s.ofTester())
			s.policyIs(xaccessNew, "ask-accepted", "Accepted=True Accepted")
		}},
		{"XAccessPolicyExtAuthLimit", func(s *stage) {
			s.xaccess("limit-1", "limit", asking("absent"), s.ofTester())
			s.policyIs(xaccessNew, "limit-1", "Accepted=True Accepted")
			s.xaccess("limit-2", "limit", asking("absent"), s.ofTester())
			s.policyIs(xaccessNew, "limit-2", "Accepted=False LimitPerTargetExceeded")
			s.policyIs(xaccessNew, "limit-1", "Accepted=True Accepted")
		}},
		{"XAccessPolicyEvaluationLogic", func(s *stage) {
			s.xaccess("logic-ask", "logic", asking(authorizer), s.ofTester())
			s.xaccess("logic-allow", "logic", "Allow", s.ofTester(), inline(base, call("get-sum, echo")))
			s.policyIs(xaccessNew, "logic-ask", "Accepted=True Accepted", programmed+"=True")
			s.policyIs(xaccessNew, "logic-allow", "Accepted=True Accepted", programmed+"=True")
			for _, agent := range agents {
				s.does("logic", strings.ToLower(agent.Name), agent, `call get-sum {"a":1,"b":2}`, "is 3", `call get-env {}`,
					forbidden, `call echo {"message":"x"}`, forbidden, `call get-sum {"a":2,"b":2}`, "is 4")
			}
		}},
		{"WithoutAction", func(s *stage) { s.withoutAction(agents[0]) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			of := *s
			of.T = t
			test.run(&of)
		})
	}
}

// noSession checks that an agent gets no session, and is told why.
func (s *stage) noSession(gateway, name string, agent e2e.Agent) {
	s.Helper()
	if told, ok := s.session(gateway, name, agent, "list"); ok || !strings.Contains(strings.Join(told, "\n"), forbidden) {
		s.Errorf("%s at %s: %v, %q, want no session", agent.Name, gateway, ok, told)
	}
}

// sumsOnly checks that the tester may call get-sum at a Gateway, by a policy of the Gateway's name, and not echo.
func (s *stage) sumsOnly(gateway string, agents []e2e.Agent) {
	s.Helper()
	s.policyIs(xaccessNew, gateway, "Accepted=True Accepted", programmed+"=True")
	for _, agent := range agents {
		s.does(gateway, strings.ToLower(agent.Name), agent, `call get-sum {"a":1,"b":2}`, "is 3",
			`call echo {"message":"x"}`, forbidden, `call get-sum {"a":2,"b":2}`, "is 4")
	}
}

// baseProtocolMatch: what a session needs is allowed, and no tool.
func (s *stage) baseProtocolMatch(agents []e2e.Agent) {
	s.xaccess("match", "match", "Allow", s.ofTester(), inline(base))
	s.policyIs(xaccessNew, "match", "Accepted=True Accepted", programmed+"=True")
	for _, agent := range agents {
		s.does("match", strings.ToLower(agent.Name), agent, "list", "get-sum", "call some-tool {}", forbidden)
	}
	s.does("match", "raw", rawAgent, initialize, "200 ... protocolVersion",
		`POST {"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "200 ... get-sum",
		`POST {"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"some-tool","arguments":{}}}`,
		`200 {"error":{"code":403,"message":"`+forbidden+`"},"id":42,"jsonrpc":"2.0"}`,
		"DELETE", "200")
}

// withoutAction: a policy that was made as v0alpha0 and of which the API server has kept no action denies, and tells
// what to do. Made again as v1alpha1 it counts; and an AccessPolicy says that it does, too.
func (s *stage) withoutAction(agent e2e.Agent) {
	s.apply(fmt.Sprintf(`apiVersion: agentic.networking.x-k8s.io/v0alpha0
kind: XAccessPolicy
metadata: {name: pruned, namespace: %s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: pruned}]
  rules: [{name: rule, %s, authorization: {type: InlineTools, tools: [get-sum]}}]
`, s.namespace, s.ofTester()))
	s.policyIs(xaccessNew, "pruned", "Accepted=False Invalid: apply it again as v1alpha1", programmed+"=True")
	s.noSession("pruned", "denied", agent)
	gone := s.Client.RESTClient().Delete().AbsPath(s.policyPath(xaccessNew, "pruned")).Do(s.Context())
	if err := gone.Error(); err != nil {
		s.Fatal(err)
	}
	s.xaccess("pruned", "pruned", "Allow", s.ofTester(), inline(base, call("get-sum")))
	s.policyIs(xaccessNew, "pruned", "Accepted=True Accepted", programmed+"=True")
	s.policyIs(xaccessOld, "pruned", "Accepted=True Accepted", programmed+"=True")
	s.apply(fmt.Sprintf(`apiVersion: cardea.dev/v1alpha1
kind: AccessPolicy
metadata: {name: more, namespace: %s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: pruned}]
  rules: [{name: echo, authorization: {type: Inline, mcp: {methods: [{name: tools/call, params: [{value: echo}]}]}}}]
`, s.namespace))
	s.policyIs(accessPaths, "more", "Accepted=True Accepted", programmed+"=True")
	s.does("pruned", "allowed", agent, `call get-sum {"a":1,"b":2}`, "is 3", `call echo {"message":"x"}`, "Echo: x",
		`call get-env {}`, forbidden)
}

// authorizer runs a server that denies calls of some tools, and returns the Service that stands for it.
func (s *stage) authorizer(denied ...string) (service string) {
	s.Helper()
	listener, err := net.Listen("tcp", kubetest.NodeAddress.String()+":0")
	if err != nil {
		s.Fatal(err)
	}
	server := e2e.ToolsAuthorizer(denied...)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	s.Cleanup(func() { server.Stop(); <-done })
	s.apply(fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: authorizer, namespace: %[1]s}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: authorizer, namespace: %[1]s, labels: {kubernetes.io/service-name: authorizer}}
addressType: IPv4
endpoints: [{addresses: [%[2]s]}]
ports: [{port: %[3]d}]
`, s.namespace, kubetest.NodeAddress, listener.Addr().(*net.TCPAddr).Port))
	return "authorizer"
}
