package access

import (
	"slices"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	jsonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/json_to_metadata/v3"
	mcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/mcp/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
)

// forbidden is what RBAC answers with. The connection manager makes an error of JSON-RPC of it, if an agent asked.
const forbidden = 403

// mostBody is how much of a message is read, in bytes. What is longer is refused.
const mostBody = 1 << 20

// parse reads what agents ask for. Whatever the parser can't read for certain is refused: no message that a server
// reads in another way gets past it.
func parse(e extend.EnvoyRule) {
	key := func(name string) *jsonv3.JsonToMetadata_Rule {
		return &jsonv3.JsonToMetadata_Rule{
			Selectors: []*jsonv3.JsonToMetadata_Selector{{
				Selector: &jsonv3.JsonToMetadata_Selector_Key{Key: name},
			}},
			OnPresent: &jsonv3.JsonToMetadata_KeyValuePair{MetadataNamespace: witness, Key: name},
		}
	}
	// The parser reads the bytes as they are. A server must not read them as something compressed.
	e.Sanitize("content-encoding")
	var params []*mcpv3.ParserConfig_AttributeExtractionRule
	for _, path := range []string{"params.name", "params.arguments"} {
		params = append(params, &mcpv3.ParserConfig_AttributeExtractionRule{Path: path})
	}
	e.Filter(extend.SlotMCP, "mcp", &mcpv3.Mcp{
		TrafficMode: mcpv3.Mcp_REJECT_NO_MCP, RejectDuplicateKeys: wrapperspb.Bool(true),
		MaxRequestBodySize: wrapperspb.UInt32(mostBody),
		ParserConfig: &mcpv3.ParserConfig{Methods: []*mcpv3.ParserConfig_MethodConfig{{
			Method: "tools/call", ExtractionRules: params,
		}}},
	})
	e.Filter(extend.SlotMCP, "witness", &jsonv3.JsonToMetadata{RequestRules: &jsonv3.JsonToMetadata_MatchRules{
		AllowContentTypesRegex: expression("(?i)application/json.*").GetSafeRegex(),
		Rules:                  []*jsonv3.JsonToMetadata_Rule{key("jsonrpc"), key("method")},
	}})
	e.Filter(extend.SlotMCP, "server", &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: served,
		Value:             &structpb.Struct{Fields: map[string]*structpb.Value{servedKey: structpb.NewBoolValue(true)}},
	}}})
}

// render makes filters of what each level states. They have names of their level, so those of farther ones run, too.
func render(e extend.EnvoyRule, v Value) {
	for _, l := range v.Levels {
		l.render(e, v)
	}
}

func (l Level) closed() bool {
	return slices.ContainsFunc(l.Policies, func(p Policy) bool { return p.Closed })
}

// each goes over the rules of an action; dry: those of policies that run dry, else the others.
func (l Level) each(dry bool, action Action, do func(Policy, Rule)) {
	for _, p := range l.Policies {
		for _, r := range p.Rules {
			if p.DryRun == dry && !p.AsksOnly && (r.Action == action || r.Action == "" && action == Allow) {
				do(p, r)
			}
		}
	}
}

// allows tells whether some policies say what is allowed, so that nothing else is.
func (l Level) allows(dry bool) (some bool) {
	for _, p := range l.Policies {
		some = some || p.DryRun == dry && len(p.Rules) == 0 && !p.Open && !p.AsksOnly
	}
	l.each(dry, Allow, func(Policy, Rule) { some = true })
	return some
}

func ruleName(p Policy, r Rule) string { return p.Name + "/" + r.Name }

func (l Level) render(e extend.EnvoyRule, v Value) {
	name := func(what string) string { return "access/" + l.Name + "/" + what }
	if l.closed() {
		e.Filter(extend.SlotAuthz, name("closed"), &filterv3.RBAC{Rules: &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW}})
		return
	}
	w := writer{level: l, callers: callersOf(l, v.Providers), portOffset: v.PortOffset}
	if filter := w.callers.filter(); filter != nil {
		e.Filter(extend.SlotAuthz, name("caller"), filter)
	}
	denied := &filterv3.RBAC{Rules: w.rules(false, Deny), ShadowRules: w.rules(true, Deny)}
	if denied.Rules != nil || denied.ShadowRules != nil {
		w.counted(denied).ShadowRulesStatPrefix = w.level.prefix() + "drydeny_" // beside what those that allow say
		e.Filter(extend.SlotAuthz, name("deny"), denied)
	}
	w.unless(func(rule string, filter *filterv3.RBAC) {
		e.Filter(extend.SlotAuthz, name("deny/"+rule), w.counted(filter))
	})
	allowed := new(filterv3.RBAC)
	if l.allows(false) {
		allowed.Rules = w.rules(false, Allow)
	}
	if l.allows(true) { // what would be allowed if they were in force, too
		allowed.ShadowRules = w.rules(true, Allow)
		for rule, p := range w.rules(false, Allow).GetPolicies() {
			allowed.ShadowRules.Policies[rule] = p
		}
	}
	if allowed.Rules != nil || allowed.ShadowRules != nil {
		e.Filter(extend.SlotAuthz, name("allow"), w.counted(allowed))
	}
	w.list(e)
	w.ask(e)
}

// writer writes the rules of a level.
type writer struct {
	level      Level
	callers    callers
	portOffset int32 // from a listener's port to the one that proxies bind
}

// counted is a filter that counts by rules, and says which one decided.
func (w writer) counted(f *filterv3.RBAC) *filterv3.RBAC {
	prefix := w.level.prefix()
	f.RulesStatPrefix, f.ShadowRulesStatPrefix, f.TrackPerRuleStats = prefix, prefix+"dry_", true
	return f
}

// prefix begins the names of what is counted and said of a level.
func (l Level) prefix() string { return "access_" + l.Name + "_" }

// rules are those of an action; nil: nothing is to be denied. Those that deny by an expression are in filters of their
// own.
func (w writer) rules(dry bool, action Action) *rbacv3.RBAC {
	policies := map[string]*rbacv3.Policy{}
	w.level.each(dry, action, func(p Policy, r Rule) {
		if action == Allow || r.Authorization.expression() == "" || dry {
			policies[ruleName(p, r)] = w.policy(p, r, action == Deny)
		}
	})
	for _, p := range w.level.Policies {
		if action == Allow && p.Open && p.DryRun == dry {
			policies[p.Name] = &rbacv3.Policy{Principals: []*rbacv3.Principal{extend.AllOf(nil)}, Permissions: anything}
		}
	}
	switch {
	case action == Allow:
		return &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: policies}
	case len(policies) == 0:
		return nil
	}
	return &rbacv3.RBAC{Action: rbacv3.RBAC_DENY, Policies: policies}
}

// unless makes a filter of each rule that denies by an expression: it allows what the rule does certainly not deny. An
// expression that can't be evaluated denies.
func (w writer) unless(do func(rule string, filter *filterv3.RBAC)) {
	w.level.each(false, Deny, func(p Policy, r Rule) {
		if r.Authorization.expression() == "" {
			return
		}
		do(ruleName(p, r), &filterv3.RBAC{Rules: &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: w.others(p, r)}})
	})
}

// others take the requests that a rule with an expression does certainly not take.
func (w writer) others(p Policy, r Rule) map[string]*rbacv3.Policy {
	list := extend.Unless(extend.RequestMatch{RequestParts: extend.RequestParts{CEL: r.Authorization.expression()}})
	taken := extend.AllOf([]*rbacv3.Principal{w.callers.of(p, r), r.Authorization.of(true)})
	return map[string]*rbacv3.Policy{
		ruleName(p, r):             list[len(list)-1],
		ruleName(p, r) + "/others": {Principals: []*rbacv3.Principal{extend.NotPrincipal(taken)}, Permissions: anything},
	}
}

var anything = []*rbacv3.Permission{{Rule: &rbacv3.Permission_Any{Any: true}}}

// policy takes the requests of a rule; deny: what can't be told is taken.
func (w writer) policy(p Policy, r Rule, deny bool) *rbacv3.Policy {
	out := &rbacv3.Policy{
		Principals:  []*rbacv3.Principal{extend.AllOf([]*rbacv3.Principal{w.callers.of(p, r), r.Authorization.of(deny)})},
		Permissions: anything,
	}
	if r.Authorization != nil && len(r.Authorization.Ports) > 0 {
		out.Permissions = nil
		for _, port := range r.Authorization.Ports {
			out.Permissions = append(out.Permissions, &rbacv3.Permission{
				Rule: &rbacv3.Permission_DestinationPort{DestinationPort: uint32(port + w.portOffset)},
			})
		}
	}
	if cel := r.Authorization.expression(); cel != "" {
		out.Condition = extend.Policy(extend.RequestMatch{RequestParts: extend.RequestParts{CEL: cel}}).GetCondition()
	}
	return out
}
