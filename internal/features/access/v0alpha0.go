package access

import (
	"encoding/json"
	"errors"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

// specV0Alpha0 is the spec of an XAccessPolicy of v0alpha0. Each rule has an authorization of its own, and what
// sessions need is allowed with any tool.
type specV0Alpha0 struct {
	TargetRefs []map[string]any `json:"targetRefs"`
	Rules      []struct {
		Name          string               `json:"name"`
		Source        map[string]any       `json:"source"`
		Authorization *requirementV0Alpha0 `json:"authorization,omitempty"`
	} `json:"rules"`
}

type requirementV0Alpha0 struct {
	Type         string                            `json:"type"`
	Tools        []string                          `json:"tools,omitempty"`
	ExternalAuth *gatewayv1.HTTPExternalAuthFilter `json:"externalAuth,omitempty"`
	CEL          *struct {
		Expression string `json:"expression"`
		Message    string `json:"message,omitempty"` // which v1alpha1 has not
	} `json:"cel,omitempty"`
}

// fromV0Alpha0 makes a spec of v1alpha1. There a policy either allows or asks a server, so one that does both can't be
// converted.
func fromV0Alpha0(spec map[string]any) (map[string]any, error) {
	var from specV0Alpha0
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	if err := extend.UnmarshalStrict(text, &from); err != nil {
		return nil, err
	}
	if len(from.Rules) == 0 {
		return nil, errors.New("it has no rules; state at least one")
	}
	to := map[string]any{"targetRefs": from.TargetRefs, "action": "Allow"}
	var rules []any
	for i, r := range from.Rules {
		rule := map[string]any{"name": r.Name}
		if r.Source != nil {
			rule["source"] = r.Source
		}
		if a := r.Authorization; a != nil && a.Type == "ExternalAuth" {
			if len(from.Rules) > 1 {
				return nil, fmt.Errorf("rules[%d]: a policy can't both allow requests and ask a server; move this rule into its "+
					"own policy with action ExternalAuth", i)
			}
			to["action"], to["externalAuth"] = "ExternalAuth", a.ExternalAuth
		} else if a != nil {
			if rule["authorization"], err = a.convertRequirement(); err != nil {
				return nil, fmt.Errorf("rules[%d].authorization: %w", i, err)
			}
		}
		rules = append(rules, rule)
	}
	to["rules"] = rules
	return normalizeSpec(to)
}

func (a requirementV0Alpha0) convertRequirement() (map[string]any, error) {
	switch a.Type {
	case "InlineTools":
		return map[string]any{"type": Inline, "mcp": map[string]any{
			"mcpBaseProtocolMethodsOption": MatchBase,
			"methods":                      []any{map[string]any{"name": "tools/call", "params": a.Tools}},
		}}, nil
	case "CEL":
		if a.CEL == nil {
			return nil, errors.New("its type is CEL: state cel")
		}
		return map[string]any{"type": CEL, "cel": map[string]any{"expression": a.CEL.Expression}}, nil
	}
	return nil, fmt.Errorf("type %q is unknown; write InlineTools, ExternalAuth or CEL", a.Type)
}

// normalizeSpec is a spec as a document has it.
func normalizeSpec(spec map[string]any) (out map[string]any, err error) {
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}
