package live

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A tenant who asks for more than the budgets have room for hurts himself only. Each of these holds a load on others
// meanwhile.

// shared is the shop with a Gateway that takes routes of all namespaces.
func shared() string {
	return strings.Replace(shop(), "protocol: HTTP}", "protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}", 1)
}

// tenant is a route of a namespace, attached to the shop's Gateway.
func tenant(namespace, name, hosts, rules string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: %s}
spec:
  parentRefs: [{name: web, namespace: shop}]
  hostnames: [%s]
  rules: [%s]
---
`, name, namespace, hosts, rules)
}

// expressions is a rule of n matches with a path and 32 headers and parameters each, all of them expressions that are
// large to compile.
func expressions(n int) string {
	var matches []string
	for i := range n {
		var headers, query []string
		for j := range 16 {
			headers = append(headers, fmt.Sprintf("{type: RegularExpression, name: h-%d, value: '[a-z]{900}.{%d}'}", j, i+1))
			query = append(query, fmt.Sprintf("{type: RegularExpression, name: q-%d, value: '[a-z]{900}.{%d}'}", j, i+1))
		}
		matches = append(matches, fmt.Sprintf(
			"{path: {type: RegularExpression, value: '/attack-%d/[a-z]{900}'}, headers: [%s], queryParams: [%s]}",
			i, strings.Join(headers, ", "), strings.Join(query, ", ")))
	}
	return "{matches: [" + strings.Join(matches, ", ") + "]}"
}

// hostsOf are n hosts of a tenant.
func hostsOf(name string, from, n int) string {
	var hosts []string
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("h%d.%s", from+i, name))
	}
	return strings.Join(hosts, ", ")
}

// proxyMemory is what the stage's Envoy has in memory, in MB.
func (s *stage) proxyMemory() int {
	s.t.Helper()
	pid := s.book.find("process started")[0].PID
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		s.t.Skipf("no /proc: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kB, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				s.t.Fatal(err)
			}
			return kB / 1000
		}
	}
	s.t.Fatalf("no memory of process %d", pid)
	return 0
}

// mostMemory is what an attack may cost the proxy, in MB. Without budgets each of these takes gigabytes.
const mostMemory = 500

// TestATenantOfManyExpressions: one route of 128 matches, 33 expressions each, at 16 hosts, is 67,584 expressions.
func TestATenantOfManyExpressions(t *testing.T) {
	t.Parallel()
	s := open(t, shared())
	l := s.load(200, "shop.example", "blue")
	before := s.proxyMemory()
	s.write("fair.yaml", tenant("tenant", "a-fair", "fair.tenant", "{"+to("blue")+"}"))
	s.soon("GET http://fair.tenant/ -> 500") // there is no such backend in its namespace
	s.write("attack.yaml", tenant("tenant", "attack", hostsOf("tenant", 0, 16), expressions(64)+", "+expressions(64)))
	s.says("httproute/tenant/attack", "web: Accepted=False OverBudget: Dropped Rule (its requests get 500): "+
		"spec.rules[0]: at Gateway shop/web it has 33792 expressions, 33592 over the budget of 200 for a rule "+
		"(--rule-expressions); its requests get 500; write fewer matches, hostnames or parentRefs")
	s.says("httproute/tenant/attack", "web: cardea.dev/Programmed=True")
	s.soon("GET http://h3.tenant/attack-7/x -> 404\nGET http://h3.tenant/ -> 404")
	var all strings.Builder
	for i := range 16 {
		fmt.Fprintf(&all, " -H h-%d:b", i)
	}
	query := "?q-0=1"
	for i := 1; i < 16; i++ {
		query += fmt.Sprintf("&q-%d=1", i)
	}
	s.soon(fmt.Sprintf("GET http://h3.tenant/attack-7/x%s%s -> 500", query, all.String()))

	// Each of many rules is within its budget, and all together are not: the oldest serve, the newest don't.
	var many strings.Builder
	for i := range 40 {
		many.WriteString(tenant("crowd", fmt.Sprintf("r-%02d", i), hostsOf("crowd", i, 1), expressions(5)))
	}
	s.write("crowd.yaml", many.String())
	s.says("httproute/crowd/r-39", "web: Accepted=False OverBudget: Dropped Rule (its requests get 500): "+
		"spec.rules[0]: at Gateway shop/web it has 165 expressions and older rules have 1980, together 145 over the "+
		"budget of 2000 "+
		"for namespace crowd (--namespace-expressions)")
	s.says("httproute/crowd/r-11", "web: Accepted=True", "web: cardea.dev/Programmed=True")
	if after := s.proxyMemory(); after > before+mostMemory {
		t.Errorf("the proxy has %d MB, %d before", after, before)
	} else {
		t.Logf("the proxy has %d MB, %d before", after, before)
	}
	s.unharmed(l)
}

// TestATenantOfManyHosts: the rules of a route without hostnames are copied into the hosts of a tenant, as far as he
// pays for them: who has the route keeps it everywhere else.
func TestATenantOfManyHosts(t *testing.T) {
	t.Parallel()
	s := open(t, shared())
	l := s.load(200, "shop.example", "blue")
	before := s.proxyMemory()
	var matches []string
	for i := range 64 {
		matches = append(matches, fmt.Sprintf("{path: {value: /wide/%d}}", i))
	}
	s.write("wide.yaml", strings.Replace(tenant("shop", "wide", "", "{matches: ["+strings.Join(matches, ", ")+"], "+
		to("green")+"}"), "  hostnames: []\n", "", 1))
	s.soon("GET http://any.example/wide/7 -> 200 green\nGET http://shop.example/wide/7 -> 200 blue")
	var many strings.Builder
	for i := range 64 { // 1,024 hosts: with their copies 66,560 routes
		many.WriteString(tenant("crowd", fmt.Sprintf("r-%02d", i), hostsOf("crowd", 16*i, 16),
			"{matches: [{path: {value: /own}}]}"))
	}
	s.write("crowd.yaml", many.String())
	s.soon("GET http://h0.crowd/wide/7 -> 500\nGET http://h1023.crowd/wide/7 -> 500\nGET http://h1023.crowd/other -> 404")
	s.expect("GET http://any.example/wide/7 -> 200 green")
	s.says("httproute/shop/wide", "web: Accepted=True Accepted: the route is attached; the copies of the rule for "+
		"more specific hosts of namespace crowd are over a budget: it has 65536 routes and older rules have 1024, together "+
		"16560 over the budget of 50000 for namespace crowd (--namespace-routes); for these hosts requests below /wide "+
		"get 500, "+
		"unless an earlier rule matches them")
	if after := s.proxyMemory(); after > before+mostMemory {
		t.Errorf("the proxy has %d MB, %d before", after, before)
	} else {
		t.Logf("the proxy has %d MB, %d before", after, before)
	}
	s.unharmed(l)
}
