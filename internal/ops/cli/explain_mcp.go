package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/request"
)

// agentOptions say who asks a server of MCP for what.
type agentOptions struct{ as, claims, method, tool, args, uri string }

func explainMCPCommand(p Program, o *explainOptions) *cobra.Command {
	var a agentOptions
	cmd := &cobra.Command{
		Use:   "mcp URL",
		Short: "Show whether an agent may call a tool, and by which rules",
		Long: `Show how the proxies handle a message of MCP: whether the caller may send it, by which rule of which policy at
which level; who else may; and which rules nearly allow it, and what keeps them from it. The rest is as of explain.`,
		Example: `  cardea explain mcp https://tools.example/mcp --as spiffe://cluster.local/ns/shop/sa/agent --tool get-sum

  # A tool with arguments
  cardea explain mcp https://tools.example/mcp --as spiffe://cluster.local/ns/shop/sa/agent \
    --tool order --args '{"amount": 11}'

  # A caller with a token
  cardea explain mcp https://tools.example/mcp --claims '{"sub": "ann"}' --tool get-sum`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := a.parseAgent()
			if err != nil {
				return err
			}
			o.question.Agent = agent
			return runExplain(cmd, p, o, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.as, "as", "", "SPIFFE ID of the caller's certificate (default: it has none)")
	f.StringVar(&a.claims, "claims", "", "claims of the caller's token, a JSON object (default: it has none)")
	f.StringVar(&a.method, "method", "", "method of the message (default tools/call with --tool, resources/read with "+
		"--uri, else initialize)")
	f.StringVar(&a.tool, "tool", "", "name of the tool, or of the prompt")
	f.StringVar(&a.uri, "uri", "", "URI of the resource")
	f.StringVar(&a.args, "args", "", "arguments of the tool, a JSON object")
	bindExplain(cmd, p, o)
	return cmd
}

// parseAgent is what the flags say.
func (a agentOptions) parseAgent() (*request.Agent, error) {
	if a.as != "" && !strings.HasPrefix(a.as, "spiffe://") {
		return nil, fmt.Errorf("--as: %q is no SPIFFE ID; a ServiceAccount's is spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/NAME",
			a.as)
	}
	agent := &request.Agent{Caller: a.as, Method: a.method, Params: map[string]any{}}
	switch {
	case a.method != "":
	case a.tool != "":
		agent.Method = "tools/call"
	case a.uri != "":
		agent.Method = "resources/read"
	default:
		agent.Method = "initialize"
	}
	if a.tool != "" {
		agent.Params["name"] = a.tool
	}
	if a.uri != "" {
		agent.Params["uri"] = a.uri
	}
	if a.args != "" {
		if a.tool == "" {
			return nil, errors.New("--args are those of a tool: name it with --tool")
		}
		var arguments map[string]any
		if err := json.Unmarshal([]byte(a.args), &arguments); err != nil {
			return nil, fmt.Errorf("--args: want a JSON object: %w", err)
		}
		agent.Params["arguments"] = arguments
	}
	agent.Claims = map[string]any{} // it is known that there are none
	if a.claims != "" {
		if err := json.Unmarshal([]byte(a.claims), &agent.Claims); err != nil {
			return nil, fmt.Errorf("--claims: want a JSON object: %w", err)
		}
	}
	return agent, nil
}
