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
	"cardea.dev/cardea/extend/envoy"
)

// forbiddenStatus is what RBAC answers with. The connection manager makes an error of JSON-RPC of it, if an agent
// asked.
const forbiddenStatus = 403

// maxBodyBytes is how much of a message is read, in bytes. Longer messages are refused.
const maxBodyBytes = 1 << 20

// renderMCPParser reads what agents ask for. Whatever the parser can't read for certain is refused: no message that a
// server reads in another way gets past it.
func renderMCPParser(e envoy.Rule) {
	// The parser reads the bytes as they are. A server must not read them as something compressed.
	e.Sanitize("content-encoding")
	var params []*mcpv3.ParserConfig_AttributeExtractionRule
	for _, path := range []string{"params.name", "params.arguments"} {
		params = append(params, &mcpv3.ParserConfig_AttributeExtractionRule{Path: path})
	}
	e.Filter(extend.SlotMCP, "upgrade", envoy.RefuseUpgrades())
	e.Filter(extend.SlotMCP, "mcp", &mcpv3.Mcp{
		TrafficMode: mcpv3.Mcp_REJECT_NO_MCP, RejectDuplicateKeys: wrapperspb.Bool(true),
		MaxRequestBodySize: wrapperspb.UInt32(maxBodyBytes),
		ParserConfig: &mcpv3.ParserConfig{Methods: []*mcpv3.ParserConfig_MethodConfig{{
			Method: "tools/call", ExtractionRules: params,
		}}},
	})
	e.Filter(extend.SlotMCP, "server", &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: serverNamespace,
		Value:             &structpb.Struct{Fields: map[string]*structpb.Value{serverKey: structpb.NewBoolValue(true)}},
	}}})
	e.Set(extend.SlotMessages, nil)
}

// renderRule makes filters of what each level states. They have names of their level, so those of farther ones run,
// too.
func renderRule(e envoy.Rule, v Value) {
	for _, l := range v.Levels {
		l.renderFilters(e, v)
	}
}

func (l Level) isClosed() bool {
	return slices.ContainsFunc(l.Policies, func(p Policy) bool { return p.Closed })
}

// eachRule goes over the rules of an action; dry: those of policies that run dry, else the others.
func (l Level) eachRule(dry bool, action Action, do func(Policy, Rule)) {
	for _, p := range l.Policies {
		for _, r := range p.Rules {
			if p.DryRun == dry && !p.AsksOnly && (r.Action == action || r.Action == "" && action == Allow) {
				do(p, r)
			}
		}
	}
}

// hasAllowList tells whether some policies say what is allowed, so that nothing else is.
func (l Level) hasAllowList(dry bool) (some bool) {
	for _, p := range l.Policies {
		some = some || p.DryRun == dry && len(p.Rules) == 0 && !p.Open && !p.AsksOnly
	}
	l.eachRule(dry, Allow, func(Policy, Rule) { some = true })
	return some
}

func ruleName(p Policy, r Rule) string { return p.Name + "/" + r.Name }

func (l Level) renderFilters(e envoy.Rule, v Value) {
	w := levelRenderer{Rule: e, level: l, callers: newCallerMatcher(l, v.Providers), portOffset: v.PortOffset}
	if l.isClosed() {
		w.addFilter("closed", w.countingFilter("", "dry_", &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW}, nil))
		return
	}
	if filter := w.callers.classFilter(); filter != nil {
		w.addFilter("caller", filter)
	}
	w.addFilter("deny", w.countingFilter("deny_", "drydeny_", w.denyRules(false), w.denyRules(true)))
	var allowed, dry *rbacv3.RBAC
	if l.hasAllowList(false) {
		allowed = w.allowRules(false)
	}
	if l.hasAllowList(true) { // what would be allowed if they were in force, too
		dry = w.allowRules(true)
		for rule, p := range w.allowRules(false).GetPolicies() {
			dry.Policies[rule] = p
		}
	}
	w.addFilter("allow", w.countingFilter("", "dry_", allowed, dry))
	w.addToolList()
	w.addServerFilters()
}

// levelRenderer writes the rules of a level.
type levelRenderer struct {
	envoy.Rule
	level      Level
	callers    callerMatcher
	portOffset int32 // from a listener's port to the one that proxies bind
}

// addFilter adds a filter of the level.
func (w levelRenderer) addFilter(name string, f *filterv3.RBAC) {
	if f != nil {
		w.Filter(extend.SlotAuthz, "access/"+w.level.Name+"/"+name, f)
	}
}

// statPrefix begins the names of what is counted and said of a level.
func (l Level) statPrefix() string { return "access_" + l.Name + "_" }

// countingFilter is a filter that counts by rules, and says which one decided, below names with these prefixes; nil:
// there are no rules.
func (w levelRenderer) countingFilter(prefix, dryPrefix string, rules, dry *rbacv3.RBAC) *filterv3.RBAC {
	if rules == nil && dry == nil {
		return nil
	}
	return &filterv3.RBAC{
		Rules: rules, RulesStatPrefix: w.level.statPrefix() + prefix,
		ShadowRules: dry, ShadowRulesStatPrefix: w.level.statPrefix() + dryPrefix,
		TrackPerRuleStats: true,
	}
}

// shadowFilter is a filter that refuses nothing. At the key it says "allowed" of requests that one of the policies
// takes.
func (w levelRenderer) shadowFilter(name string, takes map[string]*rbacv3.Policy) (f *filterv3.RBAC, key string) {
	prefix := w.level.statPrefix() + name + "_"
	return &filterv3.RBAC{
		ShadowRulesStatPrefix: prefix,
		ShadowRules:           &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: takes},
	}, prefix + "shadow_engine_result"
}

// allowRules are the rules that allow.
func (w levelRenderer) allowRules(dry bool) *rbacv3.RBAC {
	policies := map[string]*rbacv3.Policy{}
	w.level.eachRule(dry, Allow, func(p Policy, r Rule) { policies[ruleName(p, r)] = w.rulePolicy(p, r, false) })
	for _, p := range w.level.Policies {
		if p.Open && p.DryRun == dry {
			policies[p.Name] = &rbacv3.Policy{Principals: []*rbacv3.Principal{envoy.AllOf(nil)}, Permissions: anyPermission}
		}
	}
	return &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: policies}
}

// denyRules are the rules that deny; nil: there is none. An expression that can't be evaluated denies: a filter before
// says what is certainly something else, and the rest is denied.
func (w levelRenderer) denyRules(dry bool) *rbacv3.RBAC {
	policies := map[string]*rbacv3.Policy{}
	w.level.eachRule(dry, Deny, func(p Policy, r Rule) {
		name := ruleName(p, r)
		if r.Authorization.celExpression() == "" {
			policies[name] = w.rulePolicy(p, r, true)
			return
		}
		unless := fmt.Sprintf("unless_%d", len(policies))
		if dry {
			unless = "dry" + unless
		}
		f, key := w.shadowFilter(unless, w.mismatchPolicies(p, r))
		w.addFilter(unless, f)
		policies[name] = &rbacv3.Policy{
			Principals: []*rbacv3.Principal{envoy.NotPrincipal(
				envoy.MetadataPrincipal(rbacNamespace, []string{key}, textValueMatcher(exactMatcher("allowed"))))},
			Permissions: anyPermission,
		}
	})
	if len(policies) == 0 {
		return nil
	}
	return &rbacv3.RBAC{Action: rbacv3.RBAC_DENY, Policies: policies}
}

// mismatchPolicies take the requests that a rule with an expression does certainly not take.
func (w levelRenderer) mismatchPolicies(p Policy, r Rule) map[string]*rbacv3.Policy {
	list := envoy.MismatchPolicies(extend.RequestMatch{
		RequestParts: extend.RequestParts{CEL: r.Authorization.celExpression()},
	})
	taken := envoy.AllOf([]*rbacv3.Principal{w.callers.rulePrincipal(p, r), r.Authorization.compilePrincipal(true)})
	return map[string]*rbacv3.Policy{
		ruleName(p, r):             list[len(list)-1],
		ruleName(p, r) + "/others": {Principals: []*rbacv3.Principal{envoy.NotPrincipal(taken)}, Permissions: anyPermission},
	}
}

var anyPermission = []*rbacv3.Permission{{Rule: &rbacv3.Permission_Any{Any: true}}}

// rulePolicy takes the requests of a rule; deny: what can't be told is taken.
func (w levelRenderer) rulePolicy(p Policy, r Rule, deny bool) *rbacv3.Policy {
	out := &rbacv3.Policy{
		Principals: []*rbacv3.Principal{envoy.AllOf([]*rbacv3.Principal{w.callers.rulePrincipal(p, r),
			r.Authorization.compilePrincipal(deny)})},
		Permissions: anyPermission,
	}
	if r.Authorization != nil && len(r.Authorization.Ports) > 0 {
		out.Permissions = nil
		for _, port := range r.Authorization.Ports {
			out.Permissions = append(out.Permissions, &rbacv3.Permission{
				Rule: &rbacv3.Permission_DestinationPort{DestinationPort: uint32(port + w.portOffset)},
			})
		}
	}
	if cel := r.Authorization.celExpression(); cel != "" {
		out.Condition = envoy.MatchPolicy(extend.RequestMatch{RequestParts: extend.RequestParts{CEL: cel}}).GetCondition()
	}
	return out
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule, Agents: renderMCPParser})
