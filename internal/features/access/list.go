package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/extend"
)

// lists tells whether answers to tools/list are filtered by the rules of a level.
func (l Level) lists() bool {
	return slices.ContainsFunc(l.Policies, func(p Policy) bool { return p.Filters && !p.DryRun })
}

// list tells the filter of SlotTools what the rules of a level say of tools: a line for each rule, with its action, who
// is meant, and texts to compare names with. Who is meant is what filters have said of a caller: KEY=VALUE, or KEY= for
// any value, with commas between several; * is everybody. A condition on arguments, or in CEL, hides no tool.
func (w writer) list(e extend.EnvoyRule) {
	if !w.level.lists() {
		return
	}
	var lines []string
	add := func(action Action, who string, names []string) {
		lines = append(lines, strings.Join(append([]string{string(action), who}, names...), " "))
	}
	for _, action := range []Action{Deny, Allow} {
		w.level.each(false, action, func(p Policy, r Rule) {
			if names, some := r.Authorization.tools(action == Deny); some {
				add(action, w.meant(e, p, r, len(lines)), names)
			}
		})
	}
	open := slices.ContainsFunc(w.level.Policies, func(p Policy) bool { return p.Open && !p.DryRun })
	if open || !w.level.allows(false) {
		add(Allow, "*", nil)
	}
	e.Filter(extend.SlotAuthz, "access/"+w.level.Name+"/tools", &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: extend.ToolsMetadata, AllowOverwrite: true,
		Value: &structpb.Struct{Fields: map[string]*structpb.Value{
			w.level.Name: structpb.NewStringValue(strings.Join(lines, "\n")),
		}},
	}}})
	e.Set(extend.SlotTools, nil)
}

// meant is whom a rule means; what can't be told by the class of a caller alone is told by a filter of its own.
func (w writer) meant(e extend.EnvoyRule, p Policy, r Rule, number int) string {
	var http Authorization
	if r.Authorization != nil {
		http = *r.Authorization
		http.MCP, http.CEL = nil, nil
	}
	if len(r.Sources) == 0 && http.match() == nil && len(http.Ports) == 0 {
		return "*"
	}
	prefix := fmt.Sprintf("%stools_%d_", w.level.prefix(), number)
	e.Filter(extend.SlotAuthz, fmt.Sprintf("access/%s/tools/%d", w.level.Name, number), &filterv3.RBAC{
		ShadowRulesStatPrefix: prefix,
		ShadowRules: &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: map[string]*rbacv3.Policy{
			ruleName(p, r): w.policy(p, Rule{Name: r.Name, Sources: r.Sources, Authorization: &http}, false),
		}},
	})
	return prefix + "shadow_engine_result=allowed"
}

// tools are the tools whose calls are of a rule, as texts to compare names with; none: all. some is false if it is no
// tool's, or, certain, if it can't be told.
func (a *Authorization) tools(certain bool) (names []string, some bool) {
	switch {
	case a == nil:
		return nil, true
	case certain && a.CEL != nil:
		return nil, false
	case a.MCP == nil:
		return nil, true
	}
	for _, m := range a.MCP.Methods {
		switch {
		case m.Name != "tools" && m.Name != "tools/call", certain && len(m.Arguments) > 0:
		case len(m.Params) == 0:
			return nil, true
		default:
			for _, p := range m.Params {
				names = append(names, p.listed())
			}
		}
	}
	return names, len(names) > 0
}

// listed is a text to compare names with, as the filter reads it: =exact, ^prefix, ~pattern of Lua.
func (m TextMatch) listed() string {
	switch m.Type {
	case Prefix:
		return "^" + escaped(m.Value)
	case Wildcard:
		var parts []string
		for _, part := range strings.Split(m.Value, "*") {
			parts = append(parts, magic.ReplaceAllString(part, "%$0"))
		}
		return "~" + escaped(strings.Join(parts, ".*"))
	}
	return "=" + escaped(m.Value)
}

// magic are the characters that mean something in a pattern of Lua.
var magic = regexp.MustCompile(`[\^$()%.\[\]*+\-?]`)

// escaped writes what is no plain character as %XX.
func escaped(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
