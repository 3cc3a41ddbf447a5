package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// headers reads a header modifier. The schema can't say that no name may stand in it twice.
func (s ruleScope) headers(f gatewayv1.HTTPHeaderFilter) (*model.HeaderModifier, []problem) {
	m := &model.HeaderModifier{}
	var problems []problem
	seen := map[string]bool{}
	check := func(list string, i int, name, value string) string {
		name = strings.ToLower(name)
		if wrong := s.header(list, name, value, seen[name]); wrong != "" {
			problems = append(problems, unsupported(fmt.Sprintf(".%s[%d]", list, i), wrong))
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

// header says what is wrong with a header in one of a modifier's lists; "" if nothing is.
func (s ruleScope) header(list, name, value string, again bool) string {
	switch {
	case !isToken(name):
		return fmt.Sprintf("%q is not the name of a header", name)
	case again:
		return fmt.Sprintf("header %q is changed twice; state each name once", name)
	case name == "host" && !s.refs.unchecked:
		return fmt.Sprintf("header %q can't be changed by a header modifier%s", name, s.instead())
	case name == model.LoopHeader && !s.refs.unchecked:
		return counted
	case list != "remove" && slices.Contains(model.Framing, name):
		return framed(name)
	case strings.ContainsAny(value, "\r\n\x00"):
		return fmt.Sprintf("the value of header %q has a line break or a NUL in it", name)
	}
	return ""
}

// counted says why the header that counts hops can't be stated.
const counted = "header " + model.LoopHeader + " can't be changed: by it loops of requests are found"

// framed says why a header can't be stated.
func framed(name string) string {
	return fmt.Sprintf("header %q says where a message ends, or how a connection is used: it can't be stated", name)
}

// instead is how the Host header can be changed: an HTTPRoute has a filter for it.
func (s ruleScope) instead() string {
	if s.route.Kind() == model.KindGRPCRoute {
		return ""
	}
	return "; use the URLRewrite filter's hostname"
}

// isToken tells whether a header can have the name (RFC 9110, 5.1).
func isToken(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// notInPath finds what has to be escaped in a path.
func notInPath(field, value string) []problem {
	i := strings.IndexFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' || r == '#' })
	if i < 0 {
		return nil
	}
	return []problem{unsupported(field,
		fmt.Sprintf("%q can't be in a path; escape it: %%%02X", value[i:i+1], value[i]))}
}
