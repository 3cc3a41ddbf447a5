package policycrd

import (
	"slices"

	"cardea.dev/cardea/extend"
)

// OwnKinds are the kinds of Cardea's own policies.
func OwnKinds() []extend.Kind {
	own := func(name, plural, short, description string, features extend.Levels) extend.Kind {
		return extend.Kind{
			Group: group, Version: "v1alpha1", Name: name, Plural: plural, Short: []string{short}, Description: description,
			Features: features, Protects: slices.Contains(protecting, name),
		}
	}
	return []extend.Kind{
		own(extend.ClientPolicy, "clientpolicies", "clp",
			"ClientPolicy says how listeners treat clients' connections, before there is a request.", extend.AtListener),
		own(extend.SecurityPolicy, "securitypolicies", "secp",
			"SecurityPolicy says which requests may pass.", extend.AtRule),
		own(extend.TrafficPolicy, "trafficpolicies", "trp",
			"TrafficPolicy says what becomes of requests that may pass: limits, timeouts, retries, headers.", extend.AtRule),
		own(extend.BackendPolicy, "backendpolicies", "bkp",
			"BackendPolicy says how proxies speak to a backend.", extend.AtBackend),
		own(extend.AccessPolicy, "accesspolicies", "acp",
			"AccessPolicy says who may call what: which agent which tool of an MCP server.", extend.AtRule|extend.AtRuleBackend),
	}
}

// protecting are the kinds that protect their targets whatever a policy states.
var protecting = []string{extend.ClientPolicy, extend.SecurityPolicy, extend.AccessPolicy}

// group is that of Cardea's own kinds.
const group = "cardea.dev"
