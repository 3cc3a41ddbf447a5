package extend

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// Problem is what is wrong with a part of a value, and what to write instead. Field is its path in the value.
type Problem struct{ Field, Message string }

// Refuse tells a Reader of problems; field is where the value stands.
func Refuse(r Reader, field string, problems []Problem) {
	for _, p := range problems {
		r.Field(joinField(field, p.Field)).Refuse(p.Message)
	}
}

func joinField(field, below string) string {
	if field == "" || below == "" || below[0] == '[' {
		return field + below
	}
	return field + "." + below
}

// problemList collects problems of fields below one.
type problemList struct {
	field string
	list  *[]Problem
}

func (f problemList) atField(format string, args ...any) problemList {
	return problemList{joinField(f.field, fmt.Sprintf(format, args...)), f.list}
}

func (f problemList) addProblem(format string, args ...any) {
	*f.list = append(*f.list, Problem{f.field, fmt.Sprintf(format, args...)})
}

// collectProblems runs a check.
func collectProblems(check func(problemList)) []Problem {
	var list []Problem
	check(problemList{"", &list})
	return list
}

// ValidateMatch tells what of a match can't be served. Without problems, data planes render all that it states.
func ValidateMatch(m RequestMatch) []Problem {
	return collectProblems(func(f problemList) {
		if m.Not == nil && reflect.ValueOf(m.RequestParts).IsZero() {
			f.addProblem("it states nothing, and would match every request; state a part, or leave the match out")
		}
		m.RequestParts.checkParts(f)
		if m.Not == nil {
			return
		}
		f = f.atField("not")
		if reflect.ValueOf(*m.Not).IsZero() {
			f.addProblem("it states nothing, and would exclude every request; state a part, or leave it out")
		}
		if m.Not.CEL != "" {
			f.atField("cel").addProblem("an expression can't be negated here; write !(...) in cel of the match itself")
		}
		m.Not.checkParts(f)
	})
}

// WarnMatch warns of what of a match is most likely a mistake, although it can be served.
func WarnMatch(r Reader, m RequestMatch) {
	warn := func(r Reader, p RequestParts) {
		for i, method := range p.Methods {
			if !slices.Contains(knownMethods, method) && isToken(method) {
				at := r.Field(fmt.Sprintf("methods[%d]", i))
				at.Warn(fmt.Sprintf("%q is not a known method%s", method, suggestMethod(method)))
			}
		}
	}
	warn(r, m.RequestParts)
	if m.Not != nil {
		warn(r.Field("not"), *m.Not)
	}
}

// knownMethods are the methods of HTTP, and those of WebDAV and of caches that are in use.
var knownMethods = []string{
	"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
	"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "SEARCH", "REPORT", "PURGE",
}

// suggestMethod is "; did you mean GET?" for a method of other letters, or of the same in another order.
func suggestMethod(method string) string {
	for _, known := range knownMethods {
		if sortLetters(known) == sortLetters(method) {
			return fmt.Sprintf("; did you mean %s?", known)
		}
	}
	if near := model.NearestName(method, knownMethods); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

func sortLetters(word string) string {
	letters := []byte(word)
	slices.Sort(letters)
	return string(letters)
}

func (p RequestParts) checkParts(f problemList) {
	checkEach(f, "hosts", p.Hosts, checkHost)
	checkEach(f, "methods", p.Methods, checkMethod)
	checkEach(f, "paths", p.Paths, checkPath)
	checkEach(f, "headers", p.Headers, checkHeader)
	checkEach(f, "query", p.Query, checkQuery)
	checkEach(f, "clientCIDRs", p.ClientCIDRs, checkCIDR)
	checkEach(f, "claims", p.Claims, checkClaim)
	checkEach(f, "users", p.Users, func(f problemList, user string) {
		if user == "" {
			f.addProblem("it is empty; write the name of a user")
		}
	})
	checkEach(f, "certificates", p.Certificates, checkCertificate)
	if p.CEL != "" {
		if err := checkCEL(p.CEL, true); err != nil {
			f.atField("cel").addProblem("%v", err)
		}
	}
}

func checkEach[T any](f problemList, field string, list []T, one func(problemList, T)) {
	for i, v := range list {
		one(f.atField("%s[%d]", field, i), v)
	}
}

var hostname = regexp.MustCompile(`(?i)^(\*\.)?[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$`)

func checkHost(f problemList, host string) {
	if !hostname.MatchString(host) {
		f.addProblem("%q is not the name of a host; write shop.example.com, or *.example.com, without a port", host)
	}
}

func checkMethod(f problemList, method string) {
	if !isToken(method) || method != strings.ToUpper(method) {
		f.addProblem("%q is not a method; write it in capital letters: GET", method)
	}
}

func checkPath(f problemList, p PathMatch) {
	switch p.Type {
	case PathExact, PathPrefix:
		wrong := strings.IndexFunc(p.Value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' || r == '#' })
		switch {
		case !strings.HasPrefix(p.Value, "/"):
			f.atField("value").addProblem("%q does not start with a slash, as all paths do; write /%s", p.Value, p.Value)
		case wrong >= 0:
			f.atField("value").addProblem("%q can't be in a path; write %%%02X", p.Value[wrong:wrong+1], p.Value[wrong])
		case isUnreachable(p.Value):
			f.atField("value").addProblem(
				"paths are normalized before the comparison, and none is %q then; write it without //, /./, /../, %%2F and %%5C",
				p.Value)
		case normalizeEscapes(p.Value) != p.Value:
			f.atField("value").addProblem("paths are normalized before the comparison, and none is %q then; write %q", p.Value,
				normalizeEscapes(p.Value))
		}
	case PathRegularExpression:
		checkRegex(f.atField("value"), p.Value)
	default:
		f.atField("type").addProblem("%q is not a type; write Exact, PathPrefix or RegularExpression", p.Type)
	}
}

// isUnreachable tells whether a path is changed when it is normalized, which is before it is compared.
func isUnreachable(path string) bool {
	lower := strings.ToLower(path)
	dots := slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
	return dots || strings.Contains(path, "//") || strings.Contains(path, `\`) ||
		strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c")
}

// normalizeEscapes is how a path is written after it is normalized: letters, digits and -._~ as they are, what a path
// can't have as %XX.
func normalizeEscapes(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			if code, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				if isUnreserved(byte(code)) {
					b.WriteByte(byte(code))
				} else {
					b.WriteString(path[i : i+3])
				}
				i += 2
				continue
			}
		}
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`{}^|", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func checkRegex(f problemList, expr string) {
	if err := model.CheckRegex(expr); err != nil {
		f.addProblem("the regular expression %q is invalid: %v", expr, err)
	}
}

func checkHeader(f problemList, h NamedMatch) {
	switch name := strings.ToLower(h.Name); {
	case name == "host" || name == ":authority":
		f.atField("name").addProblem("the Host header is compared without its port; use hosts")
	case !isToken(name):
		f.atField("name").addProblem("%q is not the name of a header", h.Name)
	}
	checkValues(f, h.Type, h.Values, h.IgnoreCase)
}

func checkQuery(f problemList, q NamedMatch) {
	if q.Name == "" {
		f.atField("name").addProblem("it is empty; write the name of a parameter")
	}
	if q.Type == RegularExpression {
		f.atField("type").addProblem("parameters have no regular expressions; write Exact, Prefix, Suffix or Contains")
		return
	}
	checkValues(f, q.Type, q.Values, q.IgnoreCase)
}

var (
	matchTypes     = []MatchType{Exact, Prefix, Suffix, Contains, RegularExpression, Present}
	textMatchTypes = []TextMatchType{Exact, Prefix, Suffix, Contains, RegularExpression}
)

func checkValues(f problemList, t MatchType, values []string, ignoreCase bool) {
	switch {
	case !slices.Contains(matchTypes, t):
		f.atField("type").addProblem("%q is not a type; write Exact, Prefix, Suffix, Contains, RegularExpression or Present",
			t)
		return
	case t == Present && len(values) > 0:
		f.atField("values").addProblem("type Present takes any value; leave values out, or write Exact")
		return
	case t != Present && len(values) == 0:
		f.atField("values").addProblem("type %s compares with values; state one, or write Present", t)
	}
	for i, v := range values {
		checkValue(f.atField("values[%d]", i), t, v, ignoreCase)
	}
}

func checkValue(f problemList, t MatchType, value string, ignoreCase bool) {
	switch {
	case value == "":
		f.addProblem("it is empty; write a value, or the type Present for any")
	case strings.ContainsAny(value, "\r\n\x00"):
		f.addProblem("it has a line break or a NUL in it, which no request has")
	case t == RegularExpression:
		checkRegex(f, Expression(value, ignoreCase && model.CheckRegex(value) == nil))
	}
}

func checkCIDR(f problemList, cidr string) {
	prefix, err := netip.ParsePrefix(cidr)
	switch addr, alone := netip.ParseAddr(cidr); {
	case alone == nil && addr.Zone() == "":
		f.addProblem("%q is an address; write %s", cidr, netip.PrefixFrom(addr, addr.BitLen()))
	case err != nil:
		f.addProblem("%q is not a range of addresses; write 10.0.0.0/8, or 2001:db8::/32", cidr)
	case prefix.Addr().Is4In6():
		f.addProblem("%q is IPv4 in IPv6 form, which no client has; write it as IPv4", cidr)
	case prefix != prefix.Masked():
		f.addProblem("%q has bits set after the prefix; write %s", cidr, prefix.Masked())
	}
}

func checkClaim(f problemList, c ClaimMatch) {
	if _, err := ClaimPath(c.Claim); err != nil {
		f.atField("claim").addProblem("%v", err)
	}
	checkValues(f, c.Type, c.Values, false)
}

func checkCertificate(f problemList, c CertificateMatch) {
	stated := slices.DeleteFunc([]string{c.URI, c.DNS, c.Subject}, func(s string) bool { return s == "" })
	switch {
	case len(stated) != 1:
		f.addProblem("%d of uri, dns and subject are stated; state one", len(stated))
	case !slices.Contains(textMatchTypes, c.Type):
		f.atField("type").addProblem("%q is not a type; write Exact, Prefix, Suffix, Contains or RegularExpression", c.Type)
	case c.Subject != "" && c.Type != Exact:
		f.atField("type").addProblem("a subject is compared as a whole; write Exact, or compare uri or dns")
	case c.Subject != "" && !strings.Contains(c.Subject, "="):
		f.atField("subject").addProblem("%q is not a subject; write CN=%s", c.Subject, c.Subject)
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

// Expression is a regular expression, for letters in any case if they are ignored.
func Expression(expr string, ignoreCase bool) string {
	if ignoreCase {
		return "(?i:" + model.ClosedRegex(expr) + ")"
	}
	return expr
}
