package extend

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// Problem is what is wrong with a part of a value, and what to write instead. Field is its path in the value.
type Problem struct{ Field, Message string }

// Refuse tells a Reader of problems; field is where the value stands.
func Refuse(r Reader, field string, problems []Problem) {
	for _, p := range problems {
		r.Field(joined(field, p.Field)).Refuse(p.Message)
	}
}

func joined(field, below string) string {
	if field == "" || below == "" || below[0] == '[' {
		return field + below
	}
	return field + "." + below
}

// findings collects problems of fields below one.
type findings struct {
	field string
	list  *[]Problem
}

func (f findings) at(format string, args ...any) findings {
	return findings{joined(f.field, fmt.Sprintf(format, args...)), f.list}
}

func (f findings) add(format string, args ...any) {
	*f.list = append(*f.list, Problem{f.field, fmt.Sprintf(format, args...)})
}

// collect runs a check.
func collect(check func(findings)) []Problem {
	var list []Problem
	check(findings{"", &list})
	return list
}

// Validate tells what of a match can't be served. Without problems Policy and Unless render all that it states.
func Validate(m RequestMatch) []Problem {
	return collect(func(f findings) {
		if m.Not == nil && reflect.ValueOf(m.RequestParts).IsZero() {
			f.add("it states nothing, and would match every request; state a part, or leave the match out")
		}
		m.RequestParts.check(f)
		if m.Not == nil {
			return
		}
		f = f.at("not")
		if reflect.ValueOf(*m.Not).IsZero() {
			f.add("it states nothing, and would except every request; state a part, or leave it out")
		}
		if m.Not.CEL != "" {
			f.at("cel").add("an expression can't be negated here; write !(...) in cel of the match itself")
		}
		m.Not.check(f)
	})
}

func (p RequestParts) check(f findings) {
	check(f, "hosts", p.Hosts, checkHost)
	check(f, "methods", p.Methods, checkMethod)
	check(f, "paths", p.Paths, checkPath)
	check(f, "headers", p.Headers, checkHeader)
	check(f, "query", p.Query, checkQuery)
	check(f, "clientCIDRs", p.ClientCIDRs, checkCIDR)
	check(f, "claims", p.Claims, checkClaim)
	check(f, "users", p.Users, func(f findings, user string) {
		if user == "" {
			f.add("it is empty; write the name of a user")
		}
	})
	check(f, "certificates", p.Certificates, checkCertificate)
	if p.CEL != "" {
		if err := checkCEL(p.CEL, true); err != nil {
			f.at("cel").add("%v", err)
		}
	}
}

func check[T any](f findings, field string, list []T, one func(findings, T)) {
	for i, v := range list {
		one(f.at("%s[%d]", field, i), v)
	}
}

var hostname = regexp.MustCompile(`(?i)^(\*\.)?[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$`)

func checkHost(f findings, host string) {
	if !hostname.MatchString(host) {
		f.add("%q is not the name of a host; write shop.example.com, or *.example.com, without a port", host)
	}
}

func checkMethod(f findings, method string) {
	if !isToken(method) || method != strings.ToUpper(method) {
		f.add("%q is not a method; write it in capital letters: GET", method)
	}
}

func checkPath(f findings, p PathMatch) {
	switch p.Type {
	case PathExact, PathPrefix:
		wrong := strings.IndexFunc(p.Value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' || r == '#' })
		switch {
		case !strings.HasPrefix(p.Value, "/"):
			f.at("value").add("%q does not start with a slash, as all paths do; write /%s", p.Value, p.Value)
		case wrong >= 0:
			f.at("value").add("%q can't be in a path; write %%%02X", p.Value[wrong:wrong+1], p.Value[wrong])
		case unreachable(p.Value):
			f.at("value").add("no request has the path %q when it is compared; write it without //, /./, /../, %%2F and %%5C",
				p.Value)
		}
	case PathRegularExpression:
		checkRegex(f.at("value"), p.Value)
	default:
		f.at("type").add("%q is not a type; write Exact, PathPrefix or RegularExpression", p.Type)
	}
}

// unreachable tells whether Envoy changes a path before it is compared.
func unreachable(path string) bool {
	lower := strings.ToLower(path)
	dots := slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
	return dots || strings.Contains(path, "//") || strings.Contains(path, `\`) ||
		strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c")
}

func checkRegex(f findings, expr string) {
	if err := model.CheckRegex(expr); err != nil {
		f.add("the regular expression %q is invalid: %v", expr, err)
	}
}

func checkHeader(f findings, h NamedMatch) {
	switch name := strings.ToLower(h.Name); {
	case name == "host" || name == ":authority":
		f.at("name").add("the Host header is compared without its port; use hosts")
	case !isToken(name):
		f.at("name").add("%q is not the name of a header", h.Name)
	}
	checkValues(f, h.Type, h.Values, h.IgnoreCase)
}

func checkQuery(f findings, q NamedMatch) {
	if q.Name == "" {
		f.at("name").add("it is empty; write the name of a parameter")
	}
	if q.Type == RegularExpression {
		f.at("type").add("parameters have no regular expressions; write Exact, Prefix, Suffix or Contains")
		return
	}
	checkValues(f, q.Type, q.Values, q.IgnoreCase)
}

var (
	matchTypes     = []MatchType{Exact, Prefix, Suffix, Contains, RegularExpression, Present}
	textMatchTypes = []TextMatchType{Exact, Prefix, Suffix, Contains, RegularExpression}
)

func checkValues(f findings, t MatchType, values []string, ignoreCase bool) {
	switch {
	case !slices.Contains(matchTypes, t):
		f.at("type").add("%q is not a type; write Exact, Prefix, Suffix, Contains, RegularExpression or Present", t)
		return
	case t == Present && len(values) > 0:
		f.at("values").add("type Present takes any value; leave values out, or write Exact")
		return
	case t != Present && len(values) == 0:
		f.at("values").add("type %s compares with values; state one, or write Present", t)
	}
	for i, v := range values {
		checkValue(f.at("values[%d]", i), t, v, ignoreCase)
	}
}

func checkValue(f findings, t MatchType, value string, ignoreCase bool) {
	switch {
	case value == "":
		f.add("it is empty; write a value, or the type Present for any")
	case strings.ContainsAny(value, "\r\n\x00"):
		f.add("it has a line break or a NUL in it, which no request has")
	case t == RegularExpression:
		checkRegex(f, expression(value, ignoreCase && model.CheckRegex(value) == nil))
	}
}

func checkCIDR(f findings, cidr string) {
	prefix, err := netip.ParsePrefix(cidr)
	switch addr, alone := netip.ParseAddr(cidr); {
	case alone == nil && addr.Zone() == "":
		f.add("%q is an address; write %s", cidr, netip.PrefixFrom(addr, addr.BitLen()))
	case err != nil:
		f.add("%q is not a range of addresses; write 10.0.0.0/8, or 2001:db8::/32", cidr)
	case prefix.Addr().Is4In6():
		f.add("%q is IPv4 in IPv6, which no client has; write it as IPv4", cidr)
	case prefix != prefix.Masked():
		f.add("%q has bits behind the prefix; write %s", cidr, prefix.Masked())
	}
}

func checkClaim(f findings, c ClaimMatch) {
	if _, err := ClaimPath(c.Claim); err != nil {
		f.at("claim").add("%v", err)
	}
	checkValues(f, c.Type, c.Values, false)
}

func checkCertificate(f findings, c CertificateMatch) {
	stated := slices.DeleteFunc([]string{c.URI, c.DNS, c.Subject}, func(s string) bool { return s == "" })
	switch {
	case len(stated) != 1:
		f.add("%d of uri, dns and subject are stated; state one", len(stated))
	case !slices.Contains(textMatchTypes, c.Type):
		f.at("type").add("%q is not a type; write Exact, Prefix, Suffix, Contains or RegularExpression", c.Type)
	case c.Subject != "" && c.Type != Exact:
		f.at("type").add("a subject is compared as a whole; write Exact, or compare uri or dns")
	case c.Subject != "" && !strings.Contains(c.Subject, "="):
		f.at("subject").add("%q is not a subject; write CN=%s", c.Subject, c.Subject)
	case c.Type == RegularExpression:
		checkRegex(f, stated[0])
	}
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
