package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/policy"
)

// Policy is a field of a policy that is in force for a request, or a feature that is not.
type Policy struct {
	Field string `json:"field"`           // "jwt.providers[corp].issuer", or the name of a feature that is off
	Value string `json:"value,omitempty"` // "": the feature is off
	From  string `json:"from"`            // who states it: "TrafficPolicy shop/web-t, on the route"
	// Over is what it counts in place of, the nearest first.
	Over []SupersededValue `json:"over,omitempty"`
	// Words are further notes of the feature: about a list's element they stand on its first field, else on the
	// feature's.
	Words []string `json:"words,omitempty"`
	// Instead is why requests are answered with an error in place of it.
	Instead string `json:"instead,omitempty"`
}

// SupersededValue is what does not count.
type SupersededValue struct {
	Value string `json:"value"`
	From  string `json:"from"`
}

// listPolicies are those in force for a rule at a listener.
func (q *inquiry) listPolicies(
	gateway model.ObjectRef, listener model.ListenerKey, rule model.RuleKey,
) (list []Policy) {
	for _, p := range q.world.Policies.PiecesAt(q.policySnapshot(), gateway, listener, rule) {
		list = append(list, q.describeFeature(p)...)
	}
	return list
}

// backendPolicies are those in force for a backend, as a Gateway's proxies have it.
func (q *inquiry) backendPolicies(k plan.BackendKey) (list []Policy) {
	for _, p := range q.world.Policies.PiecesOfBackend(q.view, k) {
		list = append(list, q.describeFeature(p)...)
	}
	return list
}

// describeFeature tells of each field of a feature who states it.
func (q *inquiry) describeFeature(p policy.RulePiece) (list []Policy) {
	instead := ""
	if p.Status != 0 {
		instead = fmt.Sprintf("requests are answered with %d: %s", p.Status, joinErrors(p.Findings))
	}
	if why := joinErrors(p.Findings); p.Status == 0 && why != "" {
		instead = "left out: " + why
	}
	if p.Rendered.OfListener().Closed {
		instead = "connections are closed: " + joinClosing(p.Findings)
	}
	if b := p.Rendered.Backend; b != nil && b.Closed {
		instead = "nothing is sent there: " + joinClosing(p.Findings)
	}
	if p.JSON == "" {
		if p.TurnsOffNothing() {
			return nil
		}
		off := Policy{Field: p.Feature, From: q.describeSource(p.Disabled)}
		if p.Idle != "" {
			off.From = p.Idle
		}
		return append(list, q.addOverridden(off, p, ""))
	}
	for _, f := range p.Fields {
		one := Policy{Field: policy.FieldPath(p.Feature, f.Path), Value: unquoteValue(f.Value),
			From: q.describeSource(f.From)}
		one.Instead, instead = instead, ""
		list = append(list, q.addOverridden(one, p, f.Path))
	}
	addWords(list, q.world.Policies.DescribePiece(p))
	return list
}

// addWords puts what a feature tells besides on its fields: "NAME: text" on the first field of the element of that
// name, anything else on the first one.
func addWords(fields []Policy, words []string) {
	for _, text := range words {
		at := 0
		if name, _, named := strings.Cut(text, ": "); named {
			at = max(0, slices.IndexFunc(fields, func(p Policy) bool {
				_, element, _ := strings.Cut(p.Field, "[")
				return strings.HasPrefix(element, name+"]")
			}))
		}
		if len(fields) > 0 {
			fields[at].Words = append(fields[at].Words, text)
		}
	}
}

// explainClosing is why policies close the connections of a listener; "": they don't.
func (q *inquiry) explainClosing(k model.ListenerKey) string {
	for _, p := range q.world.Policies.PiecesAtListener(q.policySnapshot(), k) {
		if p.Rendered.OfListener().Closed {
			return joinClosing(p.Findings)
		}
	}
	return ""
}

// joinErrors is what is wrong with a feature.
func joinErrors(findings []policy.Finding) string {
	return joinFindings(findings, func(f policy.Finding) bool { return f.Severity == model.Error })
}

// joinClosing is why a feature closes connections. That may be no error: a policy for a Gateway is right for the
// requests of other listeners.
func joinClosing(findings []policy.Finding) string {
	return joinFindings(findings, func(f policy.Finding) bool { return f.Severity == model.Error || f.Closes })
}

func joinFindings(findings []policy.Finding, wanted func(policy.Finding) bool) string {
	var all []string
	for _, f := range findings {
		switch {
		case !wanted(f):
		case input.IsClosedKey(f.Policy):
			all = append(all, fmt.Sprintf("%s: %s", input.DescribeObject(f.Policy), f.Message))
		default:
			all = append(all, fmt.Sprintf("%s: %s: %s", f.Policy, f.Field, f.Message))
		}
	}
	return strings.Join(all, "; ")
}

// addOverridden adds the values that a field counts in place of, from near to far; a feature that is off counts in
// place of all.
func (q *inquiry) addOverridden(of Policy, p policy.RulePiece, path string) Policy {
	for i := len(p.Superseded) - 1; i >= 0; i-- {
		if l := p.Superseded[i]; l.Path == path || p.JSON == "" {
			value := unquoteValue(l.Value)
			if p.JSON == "" && l.Path != "" {
				value = l.Path + ": " + value
			}
			of.Over = append(of.Over, SupersededValue{value, q.describeSource(l.From)})
		}
	}
	return of
}

// describeSource is who states something, and where that stands.
func (q *inquiry) describeSource(s policy.Source) string {
	if where := q.locate(s.Policy, ""); where != "" && s.Policy != (model.ObjectRef{}) {
		return fmt.Sprintf("%s, %s", s, where)
	}
	return s.String()
}

// unquoteValue is a value without quotes, and with < > & as they are.
func unquoteValue(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return unescaped.Replace(value)
}

// unescaped undoes what package json does to text for HTML. A backslash that is escaped itself begins nothing.
var unescaped = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// printPolicies prints them in columns.
func (p *page) printPolicies(list []Policy, place string) {
	if len(list) == 0 {
		return
	}
	p.addLine("policies", "for %s", place)
	field, value := 0, 0
	for _, one := range list {
		field, value = max(field, len(one.Field)), max(value, min(len(one.valueOrOff()), maxValueWidth))
	}
	for _, one := range list {
		p.addLine("", "%-*s  %-*s  %s", field, one.Field, value, one.valueOrOff(), one.From)
		for _, text := range one.Words {
			p.addLine("", "%-*s  %s", field, "", text)
		}
		if one.Instead != "" {
			p.addLine("", "%-*s  %s", field, "", one.Instead)
		}
		for _, lost := range one.Over {
			p.addLine("", "%-*s  over %s  %s", field, "", lost.Value, lost.From)
		}
	}
}

// maxValueWidth is the most that a column of values takes.
const maxValueWidth = 32

func (p Policy) valueOrOff() string {
	if p.Value == "" {
		return "off"
	}
	return p.Value
}
