package scope

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/ledger"
)

// worldOf is the world of testdata/shop.txt, in which edits replace texts.
func worldOf(t *testing.T, edits ...string) *objectGraph {
	t.Helper()
	w := &objectGraph{objects: map[ledger.Key]objectLinks{}, children: map[ledger.Key][]ledger.Key{}}
	shop, err := os.ReadFile("testdata/shop.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.NewReplacer(edits...).Replace(string(shop))) {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(line), &content); err != nil {
			t.Fatal(err)
		}
		if len(content) == 0 {
			continue
		}
		k, _, err := ledger.ContentOf(ledger.DefaultTarget, content)
		if err != nil {
			t.Fatal(err)
		}
		if k.Namespace == "" && k.Kind != "Namespace" && k.Kind != "GatewayClass" {
			k.Namespace = "shop"
		}
		if isRestorable(k) {
			w.addObject(k, content)
		}
	}
	return w
}

func gateway(name string) ledger.Key {
	return ledger.Key{Target: ledger.DefaultTarget, Group: gatewayGroup, Kind: "Gateway", Namespace: "shop", Name: name}
}

func names(keys []ledger.Key) string {
	var list []string
	for _, k := range keys {
		list = append(list, k.Kind+" "+strings.TrimPrefix(k.Namespace+"/", "shop/")+k.Name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// What belongs to Gateways: what attaches to them, what that names, and the policies of any of it.
func TestMembers(t *testing.T) {
	now := worldOf(t)
	for _, c := range []struct {
		gateways    string
		own, shared string
	}{
		{"edge", "BackendTLSPolicy to-blue, ConfigMap authority, EndpointSlice blue-1, GRPCRoute grpc, Gateway edge, " +
			"HTTPRoute far/far, HTTPRoute web, LimitPolicy by-label, LimitPolicy of-web, ListenerSet more, Service blue, " +
			"Service far/blue, Service mirror, Thing thing",
			"EndpointSlice common-1, HTTPRoute both, Service common"},
		{"other", "Gateway other, HTTPRoute elsewhere, Service green",
			"EndpointSlice common-1, HTTPRoute both, Service common"},
		{"edge other", "BackendTLSPolicy to-blue, ConfigMap authority, EndpointSlice blue-1, EndpointSlice common-1, " +
			"GRPCRoute grpc, Gateway edge, Gateway other, HTTPRoute both, HTTPRoute elsewhere, HTTPRoute far/far, " +
			"HTTPRoute web, LimitPolicy by-label, LimitPolicy of-web, ListenerSet more, Service blue, Service common, " +
			"Service far/blue, Service green, Service mirror, Thing thing", ""},
		{"none", "", ""},
	} {
		var gateways []ledger.Key
		for name := range strings.FieldsSeq(c.gateways) {
			gateways = append(gateways, gateway(name))
		}
		m := collectMembers([]*objectGraph{now, now}, gateways)
		if got := names(m.Own); got != c.own {
			t.Errorf("%s has of its own\n%s\nwant\n%s", c.gateways, got, c.own)
		}
		if got := names(m.Shared); got != c.shared {
			t.Errorf("%s shares\n%s\nwant\n%s", c.gateways, got, c.shared)
		}
	}
}

// What belonged to the Gateway then goes back, too, and what came since goes. What another one has by now is shared.
func TestMembersOfTwoTimes(t *testing.T) {
	then := worldOf(t, "name: web}, spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: blue}]",
		"name: web}, spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: unused}]",
		"name: elsewhere}, spec: {parentRefs: [{name: other}]", "name: elsewhere}, spec: {parentRefs: [{name: edge}]")
	m := collectMembers([]*objectGraph{then, worldOf(t)}, []ledger.Key{gateway("edge")})
	for _, name := range []string{"Service unused", "Service blue", "HTTPRoute web"} {
		if !strings.Contains(names(m.Own), name) {
			t.Errorf("%s does not belong to it: %s", name, names(m.Own))
		}
	}
	if got, want := names(m.Shared), "EndpointSlice common-1, HTTPRoute both, HTTPRoute elsewhere, Service common, "+
		"Service green"; got != want {
		t.Errorf("it shares %s, want %s", got, want)
	}
}
