package route

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// readHeaders reads a header modifier. The schema can't say that no name may stand in it twice.
func (s ruleScope) readHeaders(f gatewayv1.HTTPHeaderFilter) (*model.HeaderModifier, []problem.Problem) {
	m := &model.HeaderModifier{}
	var problems []problem.Problem
	seen := map[string]bool{}
	check := func(list string, i int, name, value string) string {
		name = strings.ToLower(name)
		if wrong := s.checkHeader(list, name, value, seen[name]); wrong != "" {
			problems = append(problems, problem.NewUnsupported(fmt.Sprintf(".%s[%d]", list, i), wrong))
		}
		seen[name] = true
		return name
	}
	for i, h := range f.Set {
		m.Set = append(m.Set, model.Header{Name: check("set", i, string(h.Name), h.Value), Value: h.Value})
	}
	for i, h := range f.Add {
		m.Add = append(m.Add, model.Header{Name: check("add", i, string(h.Name), h.Value), Value: h.Value})
	}
	for i, name := range f.Remove {
		m.Remove = append(m.Remove, check("remove", i, name, ""))
	}
	return m, problems
}

// checkHeader says what is wrong with a header in one of a modifier's lists; "" if nothing is.
func (s ruleScope) checkHeader(list, name, value string, again bool) string {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Sprintf("%q is not the name of a header", name)
	case again:
		return fmt.Sprintf("header %q is changed twice; state each name once", name)
	case name == "host" && !s.refs.Unchecked:
		return fmt.Sprintf("header %q can't be changed by a header modifier%s", name, s.hostHeaderHint())
	case name == model.LoopHeader && !s.refs.Unchecked:
		return loopHeaderMessage
	case list != "remove" && slices.Contains(model.FramingHeaders, name):
		return framingMessage(name)
	case strings.ContainsAny(value, "\r\n\x00"):
		return fmt.Sprintf("the value of header %q has a line break or a NUL in it", name)
	}
	return ""
}

// loopHeaderMessage says why the header that counts hops can't be stated.
const loopHeaderMessage = "header " + model.LoopHeader + " can't be changed: it is used to detect loops of requests"

// framingMessage says why a header can't be stated.
func framingMessage(name string) string {
	return fmt.Sprintf("header %q can't be stated: it controls where a message ends, or how a connection is used", name)
}

// hostHeaderHint is how the Host header can be changed: an HTTPRoute has a filter for it.
func (s ruleScope) hostHeaderHint() string {
	if s.grpc {
		return ""
	}
	return "; use the URLRewrite filter's hostname"
}

// notInPath finds what has to be escaped in a path.
func notInPath(field, value string) []problem.Problem {
	i := strings.IndexFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' || r == '#' })
	if i < 0 {
		return nil
	}
	return []problem.Problem{problem.NewUnsupported(field,
		fmt.Sprintf("%q can't be in a path; escape it: %%%02X", value[i:i+1], value[i]))}
}
