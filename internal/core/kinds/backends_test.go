package kinds

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// TestPrefix: names in data planes tell a kind from one of the same name in another group. Those of Cardea's own kinds
// stay as they are.
func TestPrefix(t *testing.T) {
	for k, want := range map[model.Kind]string{
		model.KindService: "service", model.KindXBackend: "xbackend", model.KindMCPBackend: "mcp",
		model.KindInferencePool: "inferencepool", model.KindHTTPRoute: "httproute",
		model.KindOf("serving.example", "Service"): "service.serving.example",
		model.KindOf("cardea.dev", "Service"):      "service.cardea.dev",
	} {
		if got := Prefix(k); got != want {
			t.Errorf("%s of group %q has the prefix %s, want %s", k, k.Group(), got, want)
		}
	}
	All(&kind.Kind{Kind: model.KindOf("serving.example", "Service")})
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "XBackend and MCP of group \"\" have one prefix, mcp") {
			t.Errorf("a kind with the prefix of another one is taken: %s", said)
		}
	}()
	All(&kind.Kind{Kind: model.KindOf("", "MCP")})
}
