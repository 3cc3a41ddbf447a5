package route

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// ParentRef fills in the defaults of a ParentRef.
func ParentRef(route model.ObjectRef, p gatewayv1.ParentReference) model.ParentRef {
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

// newRules makes a route's rules, with their names and matches (those of each rule) and nothing else yet.
func newRules(route model.ObjectRef, specs []gatewayv1.HTTPRouteRule, matches [][]model.Match) []model.Rule {
	return nameRules(route, specs, matches, func(i int) string { return matchesHash(matches[i]) })
}

// newConnectionRules makes those of a route for connections. What tells them apart is their backends.
func newConnectionRules(
	route model.ObjectRef, specs []gatewayv1.HTTPRouteRule, matches [][]model.Match,
) []model.Rule {
	return nameRules(route, specs, matches, func(i int) string { return backendsHash(specs[i].BackendRefs) })
}

// nameRules makes rules. A rule is named as the user did, else by the hash of what it is, and an ordinal among equals.
// The tilde can't stand in a user's name. So moving a rule renames no other.
func nameRules(
	route model.ObjectRef, specs []gatewayv1.HTTPRouteRule, matches [][]model.Match, hash func(rule int) string,
) []model.Rule {
	rules := make([]model.Rule, len(specs))
	seen := make(map[string]int, len(specs))
	for i, spec := range specs {
		rules[i] = model.Rule{Key: model.RuleKey{Route: route}, Index: i, Matches: matches[i]}
		if spec.Name != nil && *spec.Name != "" {
			rules[i].Key.Name = string(*spec.Name)
			continue
		}
		name := "~" + hash(i)
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
	return encodeHash(h.Sum64())
}

// backendsHash is of the backends that share a rule's connections, and not of their weights: a name stays while weights
// are shifted.
func backendsHash(list []gatewayv1.HTTPBackendRef) string {
	h := fnv.New64a()
	for _, b := range list {
		fmt.Fprintf(h, "%s %s %s %s %d\n", valueOr(b.Group, ""), valueOr(b.Kind, "Service"), valueOr(b.Namespace, ""), b.Name,
			valueOr(b.Port, 0))
	}
	return encodeHash(h.Sum64())
}

func valueOr[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func encodeHash(h uint64) string {
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], h)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}
