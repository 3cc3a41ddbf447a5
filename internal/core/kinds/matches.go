package kinds

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// httpMatches are those of each rule of an HTTPRoute.
func httpMatches(rules []gatewayv1.HTTPRouteRule) [][]model.Match {
	return ruleMatches(rules, func(r gatewayv1.HTTPRouteRule) []gatewayv1.HTTPRouteMatch { return r.Matches }, httpMatch)
}

// grpcMatches are those of each rule of a GRPCRoute.
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
