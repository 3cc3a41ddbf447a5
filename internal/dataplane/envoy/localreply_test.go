package envoy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	mcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/mcp/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// TestForbiddenForAnAgent: what the slot authz forbids is an error of FormatJSON-RPC with the request's id where the
// slot mcp read the request, and a plain 403 elsewhere.
func TestForbiddenForAnAgent(t *testing.T) {
	w, bind := newStatedWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "*", forward("tools", prefix("/mcp")))
		w.serve(b, 2, 80, "http", "*", forward("plain", prefix("/")))
		nobody := &rbacconfigv3.RBAC{Action: rbacconfigv3.RBAC_ALLOW}
		forbid := httpfilters.NewSetting(httpfilters.Authz, "allow", &rbacv3.RBAC{Rules: nobody})
		read := httpfilters.NewSetting(httpfilters.MCP, "mcp", &mcpv3.Mcp{TrafficMode: mcpv3.Mcp_REJECT_NO_MCP})
		forbid.From, read.From = testGateway, testGateway
		w.stated.gateways.Set(b, testGateway, []plan.Setting{forbid})
		w.stated.routes.Set(b, testRuleKey("tools").Route, plan.RouteSettings{Own: []plan.Setting{read}})
	})
	startProxy(t, w.resources())
	post := func(path, id string) (int, string) {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"a"}}`, id)
		url := fmt.Sprintf("http://127.0.0.1:%d%s", bind, path)
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := client(t, nil).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	for _, id := range []string{`7`, `"7"`, `"a \" quote"`} {
		status, text := post("/mcp", id)
		var got struct {
			JSONRPC string
			ID      json.RawMessage
			Error   struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		if status != 200 || got.JSONRPC != "2.0" || string(got.ID) != id || got.Error.Code != 403 ||
			got.Error.Message != "Access to this tool is forbidden." {
			t.Errorf("id %s: %d %s", id, status, text)
		}
	}
	if status, text := post("/", "7"); status != 403 || strings.HasPrefix(text, "{") {
		t.Errorf("elsewhere: %d %s", status, text)
	}
}
