package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	Over []PolicyLost `json:"over,omitempty"`
	// Words are further notes of the feature: about a list's element they stand on its first field, else on the
	// feature's.
	Words []string `json:"words,omitempty"`
	// Instead is why requests are answered with an error in place of it.
	Instead string `json:"instead,omitempty"`
}

// PolicyLost is what does not count.
type PolicyLost struct {
	Value string `json:"value"`
	From  string `json:"from"`
}

// policies are those in force for a rule at a listener.
func (q *asked) policies(gateway model.ObjectRef, listener model.ListenerKey, rule model.RuleKey) (list []Policy) {
	for _, p := range q.world.Policies.At(q.sight(), gateway, listener, rule) {
		list = append(list, q.feature(p)...)
	}
	return list
}

// backendPolicies are those in force for a backend, as a Gateway's proxies have it.
func (q *asked) backendPolicies(k plan.BackendKey) (list []Policy) {
	for _, p := range q.world.Policies.OfBackend(q.view, k) {
		list = append(list, q.feature(p)...)
	}
	return list
}

// feature tells of each field of a feature who states it.
func (q *asked) feature(p policy.RulePiece) (list []Policy) {
	instead := ""
	if p.Status != 0 {
		instead = fmt.Sprintf("requests are answered with %d: %s", p.Status, wrong(p.Findings))
	}
	if why := wrong(p.Findings); p.Status == 0 && why != "" {
		instead = "left out: " + why
	}
	if p.Rendered.OfListener().Closed {
		instead = "connections are closed: " + wrong(p.Findings)
	}
	if p.JSON == "" {
		if p.TurnsOffNothing() {
			return nil
		}
		off := Policy{Field: p.Feature, From: q.source(p.Disabled)}
		if p.Idle != "" {
			off.From = p.Idle
		}
		return append(list, q.over(off, p, ""))
	}
	for _, f := range p.Fields {
		one := Policy{Field: policy.FieldPath(p.Feature, f.Path), Value: plain(f.Value), From: q.source(f.From)}
		one.Instead, instead = instead, ""
		list = append(list, q.over(one, p, f.Path))
	}
	addWords(list, q.world.Policies.WordsOf(p))
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

// closing is why policies close the connections of a listener; "": they don't.
func (q *asked) closing(k model.ListenerKey) string {
	for _, p := range q.world.Policies.AtListener(q.sight(), k) {
		if p.Rendered.OfListener().Closed {
			return wrong(p.Findings)
		}
	}
	return ""
}

// wrong is what is wrong with a feature.
func wrong(findings []policy.Finding) string {
	var all []string
	for _, f := range findings {
		if f.Severity == model.Error {
			all = append(all, fmt.Sprintf("%s: %s: %s", f.Policy, f.Field, f.Message))
		}
	}
	return strings.Join(all, "; ")
}

// over adds the values that a field counts in place of, from near to far; a feature that is off counts in place of all.
func (q *asked) over(of Policy, p policy.RulePiece, path string) Policy {
	for i := len(p.Lost) - 1; i >= 0; i-- {
		if l := p.Lost[i]; l.Path == path || p.JSON == "" {
			value := plain(l.Value)
			if p.JSON == "" && l.Path != "" {
				value = l.Path + ": " + value
			}
			of.Over = append(of.Over, PolicyLost{value, q.source(l.From)})
		}
	}
	return of
}

// source is who states something, and where that stands.
func (q *asked) source(s policy.Source) string {
	if where := q.locate(s.Policy, ""); where != "" && s.Policy != (model.ObjectRef{}) {
		return fmt.Sprintf("%s, %s", s, where)
	}
	return s.String()
}

// plain is a value without quotes, and with < > & as they are.
func plain(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return unescaped.Replace(value)
}

// unescaped undoes what package json does to text for HTML. A backslash that is escaped itself begins nothing.
var unescaped = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// policies prints them in columns.
func (p *page) policies(list []Policy, place string) {
	if len(list) == 0 {
		return
	}
	p.line("policies", "for %s", place)
	field, value := 0, 0
	for _, one := range list {
		field, value = max(field, len(one.Field)), max(value, min(len(one.value()), widest))
	}
	for _, one := range list {
		p.line("", "%-*s  %-*s  %s", field, one.Field, value, one.value(), one.From)
		for _, text := range one.Words {
			p.line("", "%-*s  %s", field, "", text)
		}
		if one.Instead != "" {
			p.line("", "%-*s  %s", field, "", one.Instead)
		}
		for _, lost := range one.Over {
			p.line("", "%-*s  over %s  %s", field, "", lost.Value, lost.From)
		}
	}
}

// widest is the most that a column of values takes.
const widest = 32

func (p Policy) value() string {
	if p.Value == "" {
		return "off"
	}
	return p.Value
}
