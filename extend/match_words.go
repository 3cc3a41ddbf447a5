package extend

import (
	"fmt"
	"strings"
)

// DescribeMatch says which requests a match takes: "method GET or POST, path below /admin, claim team of corp is dev".
func DescribeMatch(m RequestMatch) string {
	words := m.RequestParts.describeParts()
	if m.Not != nil {
		words = append(words, "but not ("+strings.Join(m.Not.describeParts(), ", ")+")")
	}
	if len(words) == 0 {
		return "every request"
	}
	return strings.Join(words, ", ")
}

func (p RequestParts) describeParts() (words []string) {
	list := func(what string, values []string) {
		if len(values) > 0 {
			words = append(words, what+" "+strings.Join(values, " or "))
		}
	}
	list("host", p.Hosts)
	list("method", p.Methods)
	list("path", mapTexts(p.Paths, describePath))
	for _, h := range p.Headers {
		words = append(words, "header "+h.Name+" "+describeValues(h.Type, h.Values)+describeCase(h.IgnoreCase))
	}
	for _, q := range p.Query {
		words = append(words, "query parameter "+q.Name+" "+describeValues(q.Type, q.Values)+describeCase(q.IgnoreCase))
	}
	list("client in", p.ClientCIDRs)
	for _, c := range p.Claims {
		of := ""
		if c.Provider != "" {
			of = " of " + c.Provider
		}
		words = append(words, "claim "+c.Claim+of+" "+describeValues(c.Type, c.Values))
	}
	list("user", p.Users)
	list("certificate with", mapTexts(p.Certificates, certificateWords))
	if p.CEL != "" {
		words = append(words, "expression "+p.CEL)
	}
	return words
}

func mapTexts[T any](list []T, text func(T) string) (all []string) {
	for _, v := range list {
		all = append(all, text(v))
	}
	return all
}

func describePath(p PathMatch) string {
	switch p.Type {
	case PathPrefix:
		return "below " + p.Value
	case PathRegularExpression:
		return "like " + p.Value
	}
	return p.Value
}

func describeValues(t MatchType, values []string) string {
	verb := map[MatchType]string{
		Exact: "is", Prefix: "starts with", Suffix: "ends with", Contains: "contains", RegularExpression: "is like",
	}[t]
	if t == Present {
		return "is there"
	}
	return verb + " " + strings.Join(values, " or ")
}

func describeCase(ignore bool) string {
	if ignore {
		return " in any case"
	}
	return ""
}

func certificateWords(c CertificateMatch) string {
	kind, value := "URI", c.URI
	switch {
	case c.DNS != "":
		kind, value = "DNS name", c.DNS
	case c.Subject != "":
		kind, value = "subject", c.Subject
	}
	return fmt.Sprintf("a %s that %s", kind, describeValues(MatchType(c.Type), []string{value}))
}
