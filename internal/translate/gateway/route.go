package gateway

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// parentRef fills in the defaults of a parentRef.
func parentRef(route model.ObjectRef, p gatewayv1.ParentReference) model.ParentRef {
	ref := model.ParentRef{Group: gatewayv1.GroupName, Kind: "Gateway", Namespace: route.Namespace(), Name: string(p.Name)}
	if p.Group != nil {
		ref.Group = string(*p.Group)
	}
	if p.Kind != nil {
		ref.Kind = string(*p.Kind)
	}
	if p.Namespace != nil {
		ref.Namespace = string(*p.Namespace)
	}
	if p.SectionName != nil {
		ref.Section = string(*p.SectionName)
	}
	if p.Port != nil {
		ref.Port = int32(*p.Port)
	}
	return ref
}

// newRules makes a route's rules, with their names and matches (those of each rule) and nothing else yet. A rule is
// named as the user did, else by what it matches and an ordinal among equals. The tilde can't stand in a user's name.
// So moving a rule renames no other.
func newRules(route model.ObjectRef, specs []gatewayv1.HTTPRouteRule, matches [][]model.Match) []model.Rule {
	rules := make([]model.Rule, len(specs))
	seen := make(map[string]int, len(specs))
	for i, spec := range specs {
		rules[i] = model.Rule{Key: model.RuleKey{Route: route}, Index: i, Matches: matches[i]}
		if spec.Name != nil && *spec.Name != "" {
			rules[i].Key.Name = string(*spec.Name)
			continue
		}
		name := "~" + matchesHash(rules[i].Matches)
		seen[name]++
		if n := seen[name] - 1; n > 0 {
			name = fmt.Sprintf("%s.%d", name, n)
		}
		rules[i].Key.Name = name
	}
	return rules
}

func matchesHash(list []model.Match) string {
	h := fnv.New64a()
	for _, m := range list {
		// As it was before a match could be of gRPC: names of rules should not change with the program.
		fmt.Fprintf(h, "model.Match{Path:%#v, Method:%#v, Headers:%#v, Query:%#v}\n", m.Path, m.Method, m.Headers, m.Query)
		if m.GRPC != nil {
			fmt.Fprintf(h, "%#v\n", *m.GRPC)
		}
	}
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], h.Sum64())
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

func httpMatches(rules []gatewayv1.HTTPRouteRule) [][]model.Match {
	return ruleMatches(rules, func(r gatewayv1.HTTPRouteRule) []gatewayv1.HTTPRouteMatch { return r.Matches }, httpMatch)
}

func grpcMatches(rules []gatewayv1.GRPCRouteRule) [][]model.Match {
	return ruleMatches(rules, func(r gatewayv1.GRPCRouteRule) []gatewayv1.GRPCRouteMatch { return r.Matches }, grpcMatch)
}

// ruleMatches reads the matches of each rule. A rule without any takes every request, as a match does that asks for
// nothing.
func ruleMatches[R, M any](rules []R, of func(R) []M, read func(M) model.Match) [][]model.Match {
	all := make([][]model.Match, len(rules))
	for i, rule := range rules {
		matches := of(rule)
		if len(matches) == 0 {
			matches = make([]M, 1)
		}
		for _, m := range matches {
			all[i] = append(all[i], read(m))
		}
	}
	return all
}

func grpcMatch(m gatewayv1.GRPCRouteMatch) model.Match {
	read := model.Match{GRPC: &model.GRPCMatch{}}
	if m.Method != nil {
		read.GRPC.Regex = m.Method.Type != nil && *m.Method.Type == gatewayv1.GRPCMethodMatchRegularExpression
		if m.Method.Service != nil {
			read.GRPC.Service = *m.Method.Service
		}
		if m.Method.Method != nil {
			read.GRPC.Method = *m.Method.Method
		}
	}
	for _, h := range m.Headers {
		regex := h.Type != nil && *h.Type == gatewayv1.GRPCHeaderMatchRegularExpression
		read.Headers = addFirst(read.Headers,
			model.ValueMatch{Name: strings.ToLower(string(h.Name)), Value: h.Value, Regex: regex})
	}
	return read
}

func httpMatch(m gatewayv1.HTTPRouteMatch) model.Match {
	read := model.Match{Path: pathMatch(m.Path)}
	if m.Method != nil {
		read.Method = string(*m.Method)
	}
	for _, h := range m.Headers {
		regex := h.Type != nil && *h.Type == gatewayv1.HeaderMatchRegularExpression
		v := model.ValueMatch{Name: strings.ToLower(string(h.Name)), Value: h.Value, Regex: regex}
		read.Headers = addFirst(read.Headers, v)
	}
	for _, q := range m.QueryParams {
		v := model.ValueMatch{Name: string(q.Name), Value: q.Value, Regex: q.Type != nil &&
			*q.Type == gatewayv1.QueryParamMatchRegularExpression}
		read.Query = addFirst(read.Query, v)
	}
	return read
}

// addFirst adds a match unless its name is there: of several with one name the first counts (HTTPHeaderMatch.name).
func addFirst(list []model.ValueMatch, v model.ValueMatch) []model.ValueMatch {
	for _, have := range list {
		if have.Name == v.Name {
			return list
		}
	}
	return append(list, v)
}

func pathMatch(p *gatewayv1.HTTPPathMatch) model.PathMatch {
	read := model.PathMatch{Type: model.PathPrefix, Value: "/"}
	if p == nil {
		return read
	}
	if p.Type != nil {
		read.Type = model.PathType(*p.Type)
	}
	if p.Value != nil {
		read.Value = *p.Value
	}
	if read.Type == model.PathPrefix {
		if read.Value = strings.TrimRight(read.Value, "/"); read.Value == "" {
			read.Value = "/"
		}
	}
	return read
}
