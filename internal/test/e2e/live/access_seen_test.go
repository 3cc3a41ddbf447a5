package live

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/test/promtext"
)

// TestWhatAccessPoliciesSaidIsSeen: access logs have the caller, the tool, the decision and the rule; metrics count by
// rule, those of policies that run dry, too, and have no callers.
func TestWhatAccessPoliciesSaidIsSeen(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "access.log")
	a, agent := prepareAgents(t, goServer(t)), e2e.GoAgent(t)
	const caller = "spiffe://cluster.local/ns/shop/sa/first"
	a.certificate("first", caller)
	a.certificate("second", "spiffe://cluster.local/ns/shop/sa/second")
	a.write("policy.yaml", toolsPolicyFile(
		toolRule("sums.and.orders", account("first"), "{value: get-sum}", "{value: order}")+`
  - name: never-second
    action: Deny
    sources: [`+account("second")+`]
    authorization: {type: CEL, cel: {expression: "request.path == '/mcp'"}}
`)+`---
apiVersion: cardea.dev/v1alpha1
kind: AccessPolicy
metadata: {name: tried, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  mode: DryRun
  rules:
  - name: no-orders
    action: Deny
    authorization:
      type: Inline
      mcp: {methods: [{name: tools/call, params: [{value: order}, {type: Prefix, value: no-such-}]}]}
`)
	a.start(func(o *standalone.Options) { o.AccessLog = log })
	a.Ready(t)
	if out, err := a.session(agent, "first", `call get-sum {"a":1,"b":2}`, `call order {"item":"tea","amount":1}`,
		`call get-env {}`); err != nil {
		t.Fatal(out, err)
	}
	if out, err := a.session(agent, "second", `call get-sum {"a":1,"b":2}`); err == nil {
		t.Fatalf("a caller who is denied has a session: %s", out)
	}
	e2e.Eventually(t, func() error {
		lines, err := logged(log)
		if err != nil {
			return err
		}
		calls := map[string]map[string]any{}
		for _, line := range lines["tools"] {
			if strings.HasSuffix(fmt.Sprint(line["caller"]), "/second") {
				calls["second"] = line
			}
			if line["mcpMethod"] == "tools/call" {
				calls[fmt.Sprint(line["mcpName"])] = line
			}
		}
		for tool, want := range map[string]map[string]any{
			"get-sum": {"access_backend_enforced_engine_result": "allowed",
				"access_backend_enforced_effective_policy_id": "shop/tools/sums.and.orders"},
			"order": {"access_backend_enforced_engine_result": "allowed",
				"access_gateway_drydeny_shadow_engine_result":       "denied",
				"access_gateway_drydeny_shadow_effective_policy_id": "shop/tried/no-orders"},
			"get-env": {"access_backend_enforced_engine_result": "denied"},
			"second": {"access_backend_deny_enforced_engine_result": "denied",
				"access_backend_deny_enforced_effective_policy_id": "shop/tools/never-second"},
		} {
			line := calls[tool]
			if line["caller"] != caller && tool != "second" {
				return fmt.Errorf("%s: the caller is %v in %v", tool, line["caller"], line)
			}
			said, _ := line["access"].(map[string]any)
			for key, value := range want {
				if said[key] != value {
					return fmt.Errorf("%s: %s is %v in %v", tool, key, said[key], line)
				}
			}
		}
		return nil
	})
	inventory := exec.Command(e2e.Build(t), "mcp", "inventory", "tools", "-n", "shop", "--server", a.Admin)
	out, err := inventory.CombinedOutput()
	for _, want := range []string{
		"XBackend shop/tools has 3 tools", "get-sum shop/tools/sums.and.orders adds two numbers", "get-env -",
		"the server has no tool no-such-*, which shop/tried/no-orders names",
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), want) || inventory.ProcessState.ExitCode() != 1 {
			t.Errorf("want %s in %s (%v)", want, out, err)
		}
	}
	text, err := a.Get("/proxies/shop/web/metrics")
	if err != nil {
		t.Fatal(err)
	}
	counted := promtext.Read(text)
	for series, want := range map[string]float64{
		`policy_allowed{gateway="shop/web",level="backend",rule="shop/tools/sums.and.orders"}`:            2,
		`policy_denied{gateway="shop/web",level="backend",rule="shop/tools/never-second"}`:                2,
		`denied{gateway="shop/web",level="backend"}`:                                                      1,
		`policy_shadow_denied{gateway="shop/web",level="gateway",mode="dry",rule="shop/tried/no-orders"}`: 1,
	} {
		if got := counted["envoy_filter_chain_rbac_"+series]; got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	var byRules float64
	for series, n := range counted {
		if strings.HasPrefix(series, `envoy_filter_chain_rbac_policy_allowed{gateway="shop/web",level="backend",`) {
			byRules += n
		}
		if strings.Contains(series, "spiffe") {
			t.Errorf("callers are counted: %s", series)
		}
	}
	if n := counted[`envoy_filter_chain_rbac_allowed{gateway="shop/web",level="backend"}`]; n != byRules {
		t.Errorf("%v requests were allowed, %v by rules", n, byRules)
	}
}
