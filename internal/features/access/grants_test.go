package access

import (
	"fmt"
	"strings"
	"testing"
)

// TestGrantsOfDenyAndExpressions: what rules deny is no other tool, and an expression is a condition only where it is
// not decided by the tool's name.
func TestGrantsOfDenyAndExpressions(t *testing.T) {
	t.Parallel()
	tool := func(name string) *Authorization {
		return &Authorization{MCP: &MCP{Methods: []Method{{Name: "tools/call", Params: []TextMatch{{Value: name}}}}}}
	}
	expression := func(text string) *Authorization { return &Authorization{Type: CEL, CEL: &Expression{text}} }
	from := func(id string) []Source { return []Source{{SPIFFE: &TextMatch{Value: id}}} }
	level := Level{Name: "backend", Policies: []Policy{{Name: "ns/p", Rules: []Rule{
		{Name: "all", Sources: from("spiffe://td/ops"), Authorization: &Authorization{
			MCP: &MCP{Methods: []Method{{Name: "tools"}}},
		}},
		{Name: "long", Sources: from("spiffe://td/billing"),
			Authorization: expression("request.mcp.tool_name.startsWith('get')")},
		{Name: "sum", Sources: from("spiffe://td/billing"), Authorization: tool("get-sum")},
		{Name: "gets", Sources: from("spiffe://td/y"), Authorization: &Authorization{MCP: &MCP{
			Methods: []Method{{Name: "tools/call", Params: []TextMatch{{Type: Prefix, Value: "get-"}}}},
		}}},
		{Name: "no-env", Action: Deny, Authorization: tool("get-env")},
		{Name: "no-x", Action: Deny, Authorization: expression("request.headers['x'] == '1'")},
		{Name: "echo", Sources: from("spiffe://td/z"), Authorization: tool("echo")},
	}}}}
	var got strings.Builder
	for _, g := range listGrants([]Value{{Levels: []Level{level}}}, nil) {
		fmt.Fprintf(&got, "%s|%s|%s|%s\n", g.Caller, g.May, g.If, g.By)
	}
	const not = "not if request.headers['x'] == '1'"
	const get = "; request.mcp.tool_name.startsWith('get')"
	want := strings.Join([]string{
		"spiffe://td/billing|tools/call get-*, but not get-env|" + not + get + "|ns/p/long",
		"spiffe://td/billing|tools/call get-sum|" + not + "|ns/p/long, ns/p/sum",
		"spiffe://td/billing|any other tool, but not echo or get-env|" + not +
			get + "|ns/p/long",
		"spiffe://td/billing|what sessions need|" + not + get + "|ns/p/long",
		"spiffe://td/ops|tools/call echo|" + not + "|ns/p/all",
		"spiffe://td/ops|tools/call get-*, but not get-env|" + not + "|ns/p/all",
		"spiffe://td/ops|tools/call get-sum|" + not + "|ns/p/all",
		"spiffe://td/ops|any other tool, but not get-env|" + not + "|ns/p/all",
		"spiffe://td/y|tools/call get-*, but not get-env|" + not + "|ns/p/gets",
		"spiffe://td/y|tools/call get-sum|" + not + "|ns/p/gets",
		"spiffe://td/z|tools/call echo|" + not + "|ns/p/echo", "everybody else|||",
	}, "\n") + "\n"
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}
