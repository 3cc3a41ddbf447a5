package access

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:embed agentic.networking.x-k8s.io_xaccesspolicies.yaml
var xDefinition []byte

// XAccessPolicy is the kind of agentic.networking.x-k8s.io. Its spec is converted to that of an AccessPolicy.
var XAccessPolicy = extend.Kind{
	Group: "agentic.networking.x-k8s.io", Version: "v1alpha1", Name: "XAccessPolicy", Plural: "xaccesspolicies",
	CountsAs: &extend.KindAlias{
		Kind: extend.AccessPolicy, Definition: xDefinition,
		OlderVersions: map[string]func(map[string]any) (map[string]any, error){"v0alpha0": fromV0Alpha0},
	},
}

// xSpec is what an XAccessPolicy states but for its targets.
type xSpec struct {
	Action       string                            `json:"action"`
	ExternalAuth *gatewayv1.HTTPExternalAuthFilter `json:"externalAuth,omitempty"`
	Rules        []xRule                           `json:"rules,omitempty"`
}

type xRule struct {
	Name          string          `json:"name"`
	Source        *xSource        `json:"source,omitempty"`
	Authorization json.RawMessage `json:"authorization,omitempty"`
}

type xSource struct {
	Type           SourceType      `json:"type"`
	SPIFFE         string          `json:"spiffe,omitempty"`
	ServiceAccount *ServiceAccount `json:"serviceAccount,omitempty"`
}

// convertSpec turns the spec of an XAccessPolicy into that of an AccessPolicy: one source a rule becomes a list, and
// params are whole names.
func convertSpec(text []byte) (to Spec, err error) {
	var from xSpec
	if err := extend.UnmarshalStrict(text, &from); err != nil {
		return to, err
	}
	switch from.Action {
	case "Allow": // upstream lets it have an externalAuth, which says nothing
	case "ExternalAuth":
		if to.ExternalAuth = from.ExternalAuth; to.ExternalAuth == nil {
			return to, errors.New("its action is ExternalAuth: state externalAuth")
		}
	case "":
		return to, errors.New("it has no action: it was created as v0alpha0, and the API server dropped the other fields; " +
			"delete it, and apply it again as v1alpha1")
	default:
		return to, fmt.Errorf("action %q is unknown; write Allow or ExternalAuth", from.Action)
	}
	for _, r := range from.Rules {
		rule := Rule{Name: r.Name}
		if r.Source != nil {
			s := Source{Type: r.Source.Type, ServiceAccount: r.Source.ServiceAccount}
			if r.Source.SPIFFE != "" {
				s.SPIFFE = &TextMatch{Value: r.Source.SPIFFE}
			}
			rule.Sources = []Source{s}
		}
		if len(r.Authorization) > 0 {
			a, err := convertAuthorization(r.Authorization)
			if err != nil {
				return to, fmt.Errorf("rules[%s].authorization: %w", r.Name, err)
			}
			rule.Authorization = a
		}
		to.Rules = append(to.Rules, rule)
	}
	return to, nil
}

// convertAuthorization makes texts of the params of methods; all else has one form.
func convertAuthorization(text []byte) (*Authorization, error) {
	var from struct {
		Authorization
		MCP *struct {
			MCPBaseProtocolMethodsOption BaseProtocol `json:"mcpBaseProtocolMethodsOption,omitempty"`
			Methods                      []struct {
				Name   string   `json:"name"`
				Params []string `json:"params,omitempty"`
			} `json:"methods,omitempty"`
		} `json:"mcp,omitempty"`
	}
	if err := extend.UnmarshalStrict(text, &from); err != nil {
		return nil, err
	}
	to := from.Authorization
	if from.MCP != nil {
		to.MCP = &MCP{MCPBaseProtocolMethodsOption: from.MCP.MCPBaseProtocolMethodsOption}
		for _, m := range from.MCP.Methods {
			method := Method{Name: m.Name}
			for _, p := range m.Params {
				method.Params = append(method.Params, TextMatch{Value: p})
			}
			to.MCP.Methods = append(to.MCP.Methods, method)
		}
	}
	if to.Type == CEL { // it is asked of calls of tools only
		to.MCP = &MCP{Methods: []Method{{Name: "tools/call"}}}
	}
	return &to, nil
}
