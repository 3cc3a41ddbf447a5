package mcptools

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// queryArgument is an argument that becomes a query parameter.
type queryArgument struct {
	Name string
	List bool // a parameter for each element
}

// queryArgumentsOf are the arguments of a tool that become query parameters, by name: those that its schema has and
// that are nowhere else in the request. why says why one can't be.
func queryArgumentsOf(t ResolvedTool) (list []queryArgument, why string) {
	if t.Body == "*" {
		return nil, ""
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal([]byte(t.Schema), &schema) != nil {
		return nil, "" // which is told
	}
	elsewhere := append(variablesOf(t.Path), t.Body)
	for _, h := range t.Headers {
		elsewhere = append(elsewhere, h.Argument)
	}
	for name, property := range schema.Properties {
		used := func(argument string) bool { return argument == name || strings.HasPrefix(argument, name+".") }
		if slices.ContainsFunc(elsewhere, used) {
			continue
		}
		var of struct {
			Type any `json:"type"`
		}
		_ = json.Unmarshal(property, &of)
		types, _ := of.Type.([]any)
		is := func(typ string) bool { return of.Type == typ || slices.Contains(types, any(typ)) }
		if is("object") {
			why = fmt.Sprintf("the argument %s is an object, which a query can't have; make it the body, or leave it out", name)
		}
		list = append(list, queryArgument{name, is("array")})
	}
	slices.SortFunc(list, func(a, b queryArgument) int { return strings.Compare(a.Name, b.Name) })
	return list, why
}

// argument is what an argument in a path looks like: something that is no dot, with anything around it. The bridge
// writes other bytes than those of a path as %XX (RFC 3986, section 2.1), and servers read some of these as what they
// mean: control characters, "%" (which may stand for anything once more), "/", ";" and "\\" are not among what is let
// through, nor is a dot that is written so.
const (
	pathCharExpr    = `[A-Za-z0-9_~!$&'()*+,=:@-]`
	escapedCharExpr = `%(?:2[0-46-9A-Da-d]|3[0-9AaC-Fc-f]|5[0-9ABabD-Fd-f]|7[0-9A-Ea-e]|[4689A-Fa-f][0-9A-Fa-f])`
	argumentExpr    = `\.*(?:(?:` + pathCharExpr + `|` + escapedCharExpr + `)\.*)+`
)

// pathExpression is what paths of a tool's requests look like. The bridge writes parameters in the order of their
// names.
func (t ResolvedTool) pathExpression() string {
	var b strings.Builder
	rest := t.Path
	for _, part := range bracesPattern.FindAllString(t.Path, -1) {
		before, after, _ := strings.Cut(rest, part)
		b.WriteString(regexp.QuoteMeta(before) + argumentExpr)
		rest = after
	}
	b.WriteString(regexp.QuoteMeta(rest))
	list, _ := queryArgumentsOf(t)
	if len(list) == 0 {
		return b.String()
	}
	b.WriteString(`(?:\?`)
	for _, q := range list {
		times := "?"
		if q.List {
			times = "*"
		}
		fmt.Fprintf(&b, "(?:%s=[^&]*&?)%s", regexp.QuoteMeta(escapeQuery(q.Name)), times)
	}
	return b.String() + ")?"
}

// escapeQuery writes a name as Envoy does in a query.
func escapeQuery(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
