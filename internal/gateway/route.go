package gateway

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

type httpRoute = input.Object[gatewayv1.HTTPRouteSpec]

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

// newRules makes a route's rules, with their names and matches and nothing else yet. A rule is named as the user did, else by what it
// matches and an ordinal among equals. The tilde can't stand in a user's name. So moving a rule renames no other.
func newRules(route model.ObjectRef, specs []gatewayv1.HTTPRouteRule) []model.Rule {
	rules := make([]model.Rule, len(specs))
	seen := make(map[string]int, len(specs))
	for i, spec := range specs {
		rules[i] = model.Rule{Key: model.RuleKey{Route: route}, Matches: matches(spec.Matches)}
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
		fmt.Fprintf(h, "%#v\n", m)
	}
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], h.Sum64())
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// matches reads a rule's matches; none is one that takes every request.
func matches(list []gatewayv1.HTTPRouteMatch) []model.Match {
	if len(list) == 0 {
		return []model.Match{{Path: model.PathMatch{Type: model.PathPrefix, Value: "/"}}}
	}
	read := make([]model.Match, len(list))
	for i, m := range list {
		read[i] = match(m)
	}
	return read
}

func match(m gatewayv1.HTTPRouteMatch) model.Match {
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
		v := model.ValueMatch{Name: string(q.Name), Value: q.Value, Regex: q.Type != nil && *q.Type == gatewayv1.QueryParamMatchRegularExpression}
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
