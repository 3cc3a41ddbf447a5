package access

import (
	"fmt"
	"slices"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	mcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/mcp/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
)

// forbidden is what RBAC answers with. The connection manager makes an error of JSON-RPC of it, if an agent asked.
const forbidden = 403

// mostBody is how much of a message is read, in bytes. Longer messages are refused.
const mostBody = 1 << 20

// parse reads what agents ask for. Whatever the parser can't read for certain is refused: no message that a server
// reads in another way gets past it.
func parse(e extend.EnvoyRule) {
	// The parser reads the bytes as they are. A server must not read them as something compressed.
	e.Sanitize("content-encoding")
	var params []*mcpv3.ParserConfig_AttributeExtractionRule
	for _, path := range []string{"params.name", "params.arguments"} {
		params = append(params, &mcpv3.ParserConfig_AttributeExtractionRule{Path: path})
	}
	e.Filter(extend.SlotMCP, "upgrade", extend.RefuseUpgrades())
	e.Filter(extend.SlotMCP, "mcp", &mcpv3.Mcp{
		TrafficMode: mcpv3.Mcp_REJECT_NO_MCP, RejectDuplicateKeys: wrapperspb.Bool(true),
		MaxRequestBodySize: wrapperspb.UInt32(mostBody),
		ParserConfig: &mcpv3.ParserConfig{Methods: []*mcpv3.ParserConfig_MethodConfig{{
			Method: "tools/call", ExtractionRules: params,
		}}},
	})
	e.Filter(extend.SlotMCP, "server", &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: served,
		Value:             &structpb.Struct{Fields: map[string]*structpb.Value{servedKey: structpb.NewBoolValue(true)}},
	}}})
	e.Set(extend.SlotMessages, nil)
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
	w := writer{EnvoyRule: e, level: l, callers: callersOf(l, v.Providers), portOffset: v.PortOffset}
	if l.closed() {
		w.filter("closed", w.counted("", "dry_", &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW}, nil))
		return
	}
	if filter := w.callers.filter(); filter != nil {
		w.filter("caller", filter)
	}
	w.filter("deny", w.counted("deny_", "drydeny_", w.denied(false), w.denied(true)))
	var allowed, dry *rbacv3.RBAC
	if l.allows(false) {
		allowed = w.allowed(false)
	}
	if l.allows(true) { // what would be allowed if they were in force, too
		dry = w.allowed(true)
		for rule, p := range w.allowed(false).GetPolicies() {
			dry.Policies[rule] = p
		}
	}
	w.filter("allow", w.counted("", "dry_", allowed, dry))
	w.list()
	w.ask()
}

// writer writes the rules of a level.
type writer struct {
	extend.EnvoyRule
	level      Level
	callers    callers
	portOffset int32 // from a listener's port to the one that proxies bind
}

// filter adds a filter of the level.
func (w writer) filter(name string, f *filterv3.RBAC) {
	if f != nil {
		w.Filter(extend.SlotAuthz, "access/"+w.level.Name+"/"+name, f)
	}
}

// prefix begins the names of what is counted and said of a level.
func (l Level) prefix() string { return "access_" + l.Name + "_" }

// counted is a filter that counts by rules, and says which one decided, below names with these prefixes; nil: there are
// no rules.
func (w writer) counted(prefix, dryPrefix string, rules, dry *rbacv3.RBAC) *filterv3.RBAC {
	if rules == nil && dry == nil {
		return nil
	}
	return &filterv3.RBAC{
		Rules: rules, RulesStatPrefix: w.level.prefix() + prefix,
		ShadowRules: dry, ShadowRulesStatPrefix: w.level.prefix() + dryPrefix,
		TrackPerRuleStats: true,
	}
}

// shadow is a filter that refuses nothing. At the key it says "allowed" of requests that one of the policies takes.
func (w writer) shadow(name string, takes map[string]*rbacv3.Policy) (f *filterv3.RBAC, key string) {
	prefix := w.level.prefix() + name + "_"
	return &filterv3.RBAC{
		ShadowRulesStatPrefix: prefix,
		ShadowRules:           &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: takes},
	}, prefix + "shadow_engine_result"
}

// allowed are the rules that allow.
func (w writer) allowed(dry bool) *rbacv3.RBAC {
	policies := map[string]*rbacv3.Policy{}
	w.level.each(dry, Allow, func(p Policy, r Rule) { policies[ruleName(p, r)] = w.policy(p, r, false) })
	for _, p := range w.level.Policies {
		if p.Open && p.DryRun == dry {
			policies[p.Name] = &rbacv3.Policy{Principals: []*rbacv3.Principal{extend.AllOf(nil)}, Permissions: anything}
		}
	}
	return &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: policies}
}

// denied are the rules that deny; nil: there is none. An expression that can't be evaluated denies: a filter before
// says what is certainly something else, and the rest is denied.
func (w writer) denied(dry bool) *rbacv3.RBAC {
	policies := map[string]*rbacv3.Policy{}
	w.level.each(dry, Deny, func(p Policy, r Rule) {
		name := ruleName(p, r)
		if r.Authorization.expression() == "" {
			policies[name] = w.policy(p, r, true)
			return
		}
		unless := fmt.Sprintf("unless_%d", len(policies))
		if dry {
			unless = "dry" + unless
		}
		f, key := w.shadow(unless, w.others(p, r))
		w.filter(unless, f)
		policies[name] = &rbacv3.Policy{
			Principals: []*rbacv3.Principal{extend.NotPrincipal(
				extend.MetadataPrincipal(rbacSays, []string{key}, text(exactly("allowed"))))},
			Permissions: anything,
		}
	})
	if len(policies) == 0 {
		return nil
	}
	return &rbacv3.RBAC{Action: rbacv3.RBAC_DENY, Policies: policies}
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
