package access

import (
	"fmt"
	"slices"
	"strings"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// filtersToolLists tells whether answers to tools/list are filtered by the rules of a level.
func (l Level) filtersToolLists() bool {
	return slices.ContainsFunc(l.Policies, func(p Policy) bool { return p.Filters && !p.DryRun })
}

// addToolList tells the filter of SlotMessages what the rules of a level say of tools: a line for each rule, with its
// action, who its callers are, and texts to compare names with. Callers are a list with commas: names of classes, and
// KEY=VALUE, which filters have said of a caller; * is everybody. The first line has the keys that say the class of a
// caller, and whether it counts. A condition on arguments, or in CEL, hides no tool.
func (w levelRenderer) addToolList() {
	if !w.level.filtersToolLists() {
		return
	}
	var lines []string
	add := func(action Action, callers string, names []string) {
		lines = append(lines, strings.Join(append([]string{string(action), callers}, names...), " "))
	}
	classes := false // some line has one
	for _, action := range []Action{Deny, Allow} {
		w.level.eachRule(false, action, func(p Policy, r Rule) {
			names, some := r.Authorization.toolPatterns(action == Deny)
			if !some {
				return
			}
			list, known := w.callers.listClasses(p, r)
			if !known {
				list = w.addRuleFilter(p, r, len(lines))
			}
			classes = classes || known && list != everybody
			add(action, list, names)
		})
	}
	open := slices.ContainsFunc(w.level.Policies, func(p Policy) bool { return p.Open && !p.DryRun })
	if open || !w.level.hasAllowList(false) {
		add(Allow, everybody, nil)
	}
	if classes {
		_, class := w.callers.classMetadataKey()
		f, isTrusted := w.shadowFilter("trusted", map[string]*rbacv3.Policy{
			"trusted": {Principals: []*rbacv3.Principal{trustedPrincipal()}, Permissions: anyPermission},
		})
		w.addFilter("trusted", f)
		lines = slices.Insert(lines, 0, "Class "+class+" "+isTrusted)
	}
	w.Filter(extend.SlotAuthz, "access/"+w.level.Name+"/tools", &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: envoy.ToolsMetadata, AllowOverwrite: true,
		Value: &structpb.Struct{Fields: map[string]*structpb.Value{
			w.level.Name: structpb.NewStringValue(strings.Join(lines, "\n")),
		}},
	}}})
}

const everybody = "*"

// listClasses are the callers of a rule that takes them whatever else they ask for, if their classes tell who they are.
// One filter for all rules says the class; another kind of rule needs one of its own.
func (c callerMatcher) listClasses(p Policy, r Rule) (list string, known bool) {
	http := r.httpPart()
	if http.httpMatch() != nil || len(http.Ports) > 0 {
		return "", false
	}
	if len(r.Sources) == 0 {
		return everybody, true
	}
	for _, s := range r.Sources {
		if s.SPIFFE == nil || !s.SPIFFE.isExact() {
			return "", false
		}
	}
	return strings.Join(c.classes[ruleName(p, r)], ","), true
}

// httpPart is what a rule says of requests to any server.
func (r Rule) httpPart() (a Authorization) {
	if r.Authorization != nil {
		a = *r.Authorization
		a.MCP, a.CEL = nil, nil
	}
	return a
}

// addRuleFilter is what a filter of its own says if a request is of the callers of a rule, and as the rule wants it
// apart from the message.
func (w levelRenderer) addRuleFilter(p Policy, r Rule, number int) string {
	http := r.httpPart()
	name := fmt.Sprintf("tools_%d", number)
	f, key := w.shadowFilter(name, map[string]*rbacv3.Policy{
		ruleName(p, r): w.rulePolicy(p, Rule{Name: r.Name, Sources: r.Sources, Authorization: &http}, false),
	})
	w.addFilter(name, f)
	return key + "=allowed"
}

// toolPatterns are the tools that a rule is about, as texts to compare names with; none: all. some is false if it is no
// tool's, or, certain, if it can't be told.
func (a *Authorization) toolPatterns(certain bool) (names []string, some bool) {
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
				names = append(names, p.toolPattern())
			}
		}
	}
	return names, len(names) > 0
}

// toolPattern is a text to compare names with, as the filter reads it: =exact, ^prefix, ~ with * for any text.
func (m TextMatch) toolPattern() string {
	switch {
	case m.Type == Prefix:
		return "^" + escapeText(m.Value)
	case m.Type == Wildcard && strings.Contains(m.Value, "*"):
		return "~" + escapeText(m.Value)
	}
	return "=" + escapeText(m.Value)
}

// escapeText writes what is no plain character as %XX.
func escapeText(text string) string {
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
