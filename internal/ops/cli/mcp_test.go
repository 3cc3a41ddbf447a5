package cli

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/ops/mcpclient"
)

// TestInventory: each tool has the rules that name it, and each name that fits none of the server's tools is told once.
// What a terminal would obey is not printed, nor more of a description than its first line.
func TestInventory(t *testing.T) {
	sum := request.NamedTool{Rule: "shop/a/sums", Words: "get-sum", Expression: "get-sum"}
	of := explain.Access{Backend: "XBackend shop/tools", Places: []explain.AccessPlace{
		{Tools: []request.NamedTool{sum, {Rule: "shop/a/all", Words: "get-*", Expression: "get-.*"},
			{Rule: "shop/b/old", Words: "sum", Expression: "sum"}}},
		{Tools: []request.NamedTool{sum}},
	}}
	found, err := compareTools(of, []mcpclient.Tool{
		{Name: "get-sum", Description: " adds\x1b[2J\nand more"}, {Name: "forget-sum", Description: strings.Repeat("é", 61)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := found.print(&out); err != nil {
		t.Fatal(err)
	}
	want := "XBackend shop/tools has 2 tools\n" +
		"TOOL         NAMED BY                  DESCRIPTION\n" +
		"get-sum      shop/a/sums, shop/a/all   adds[2J\n" +
		"forget-sum   -                         " + strings.Repeat("é", 59) + "…\n" +
		"the server has no tool sum, which shop/b/old names\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	of.Places[0].Tools[0].Expression = "("
	if _, err := compareTools(of, nil); err == nil {
		t.Error("an expression that can't be read is no error")
	}
}

// TestServerOf: flags come before what the XBackend says; a server that wants the proxies' certificate can't be asked.
func TestServerOf(t *testing.T) {
	at := func(s explain.Server) explain.Access { return explain.Access{Backend: "XBackend a/b", Server: &s} }
	for name, c := range map[string]struct {
		to   inventoryOptions
		of   explain.Access
		want string // ADDRESS PATH HOSTNAME X-A, or the error
	}{
		"as proxies do": {inventoryOptions{}, at(explain.Server{Addresses: []string{"10.0.0.1:80", "10.0.0.2:80"},
			Path: "/served"}), "10.0.0.1:80 /served  "},
		"a path nobody states": {inventoryOptions{}, at(explain.Server{Addresses: []string{"a:80"}}), "a:80 /mcp  "},
		"flags": {inventoryOptions{address: "b:81", path: "/own", headers: []string{"x-a : 1 "}},
			at(explain.Server{Addresses: []string{"a:80"}, Path: "/served"}), "b:81 /own  1"},
		"by flags alone": {inventoryOptions{address: "b:81"}, explain.Access{}, "b:81 /mcp  "},
		"TLS": {inventoryOptions{}, at(explain.Server{Addresses: []string{"a:443"},
			TLS: &explain.TLS{Hostname: "tools.ex"}}), "a:443 /mcp tools.ex "},
		"a certificate": {inventoryOptions{}, at(explain.Server{Addresses: []string{"a:443"},
			TLS: &explain.TLS{Certificate: "Secret a/c"}}),
			"XBackend a/b asks for a client certificate that only the proxies have (Secret a/c)"},
		"no endpoint": {inventoryOptions{}, at(explain.Server{}),
			"XBackend a/b has no endpoints; name its address with --address"},
		"a header without a colon": {inventoryOptions{address: "b:81", headers: []string{"x"}}, explain.Access{},
			`-H "x": want 'name: value'`},
		"a header without a name": {inventoryOptions{address: "b:81", headers: []string{" : x"}}, explain.Access{},
			`-H " : x": want 'name: value'`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := c.to.serverOf(c.of)
			got := strings.Join([]string{s.Address, s.Path, s.Hostname, s.Header.Get("X-A")}, " ")
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
