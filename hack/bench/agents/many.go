package main

import (
	"fmt"
	"runtime"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/api/agentic/v0alpha0"
	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// many measures a server of tools for each route, with a policy of its own, without files, sockets and proxies.
func (b *bench) many(t table.Table) {
	s := scene.New(t.N, scene.Listener, b.extensions...)
	s.Apply(func(batch *flow.Batch) {
		for i := range t.N {
			setServer(s, batch, i)
		}
	})
	keys, _ := flowOf(s)
	var policies []policy
	for i := range t.N {
		policies = append(policies, policyOf(i, tool))
	}
	heap, start := scene.Heap(), scene.CPU()
	s.Apply(func(batch *flow.Batch) {
		for _, p := range policies {
			p.set(s, batch)
		}
	})
	load := scene.CPU() - start
	t.Row("load, one for each of as many servers", fmt.Sprintf("%.0f CPU-ms", table.Milli(load)),
		fmt.Sprintf("heap %.1f kB a policy", float64(scene.Heap()-heap)/1000/float64(t.N)), "")

	edited := policyOf(t.N/2, "another")
	w := s.Work(func(batch *flow.Batch) { edited.set(s, batch) })
	var sent []string
	for _, key := range w.Sent {
		sent = append(sent, xdstypes.Name(key.Type)+" "+key.Name)
	}
	t.Row("one edited", fmt.Sprintf("%d transforms run, %d values changed", w.Runs, w.Changes),
		fmt.Sprintf("%d fragments rendered; sent: %s", w.RunsOf["envoy/fragments"], strings.Join(sent, ", ")),
		"one fragment; no more at 10,000 than at 1,000")

	const edits = 200
	policies = nil
	for i := range edits {
		policies = append(policies, policyOf(i*(t.N/edits), fmt.Sprint("edit-", i)))
	}
	mean := s.Mean(edits, func(batch *flow.Batch, i int) { policies[i].set(s, batch) })
	t.Row("translating one edit", fmt.Sprintf("%.3f CPU-ms (mean of %d)", table.Milli(mean), edits), "",
		t.AtFull("1 CPU-ms"))

	all, bytes := flowOf(s)
	t.Row("flow", fmt.Sprintf("%d keys, %d of them with no policy; %d B a key", all, keys, bytes), "", "160 B a key")
	runtime.KeepAlive(s)
}

// flowOf is how many keys the collections have, and the memory of one.
func flowOf(s *scene.Scene) (keys, bytes int) {
	for _, c := range s.Graph.Stats() {
		keys += c.Keys
		bytes += c.Keys * c.KeyBytes
	}
	return keys, bytes / max(keys, 1)
}

// setServer makes a server of tools of a Service, to which its route leads.
func setServer(s *scene.Scene, b *flow.Batch, i int) {
	name := scene.Name(i)
	s.Sources.MCPBackends.Set(b, model.Ref(model.KindMCPBackend, scene.Namespace, name),
		input.Object[v0alpha0.XBackendSpec]{Spec: &v0alpha0.XBackendSpec{MCP: v0alpha0.MCPBackend{
			ServiceName: &name, Port: 80, Path: "/",
		}}})
	group, kind := gatewayv1.Group(model.KindMCPBackend.Group()), gatewayv1.Kind("XBackend")
	route := model.Ref(model.KindHTTPRoute, scene.Namespace, name)
	s.Sources.HTTPRoutes.Set(b, route, input.Object[gatewayv1.HTTPRouteSpec]{
		Spec: &gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: scene.Gateway}}},
			Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(name + ".example.com")},
			Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
				BackendObjectReference: gatewayv1.BackendObjectReference{
					Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(name),
				},
			}}}}},
		},
	})
}

// policy is an AccessPolicy as a source has it.
type policy struct {
	ref  model.ObjectRef
	spec *input.PolicySpec
}

// policyOf is the policy of a server, by which one caller may call a tool. It panics if the spec can't be read: it is
// in this program.
func policyOf(i int, tool string) policy {
	spec := new(input.PolicySpec)
	if err := yaml.Unmarshal(fmt.Appendf(nil, `
targetRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: %s}]
rules:
- name: sessions
  authorization: {type: Inline, mcp: {mcpBaseProtocolMethodsOption: MATCH_BASE_PROTOCOL_METHODS}}
- name: calls
  sources: [{type: SPIFFE, spiffe: {value: "%s"}}]
  authorization: {type: Inline, mcp: {methods: [{name: tools/call, params: [{value: %s}]}]}}
`, scene.Name(i), callerID(i), tool), spec); err != nil {
		panic(err)
	}
	return policy{model.Ref(model.KindOf("cardea.dev", "AccessPolicy"), scene.Namespace, scene.Name(i)), spec}
}

func (p policy) set(s *scene.Scene, b *flow.Batch) {
	input.SourceOf[input.PolicySpec](s.Sources.Sources, p.ref.Kind()).Set(b, p.ref,
		input.Object[input.PolicySpec]{Spec: p.spec})
}
