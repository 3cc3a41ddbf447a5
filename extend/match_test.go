package extend

import (
	"slices"
	"strings"
	"testing"
)

// TestValidate: each mistake is told at its field, with what to write instead.
func TestValidate(t *testing.T) {
	named := func(t MatchType, values ...string) []NamedMatch {
		return []NamedMatch{{Name: "x-a", Type: t, Values: values}}
	}
	for _, c := range []struct {
		parts RequestParts
		want  string // "" if nothing is wrong
	}{
		{RequestParts{}, "states nothing"},
		{RequestParts{Hosts: []string{"a.test", "*.B.test", "_x.test"}}, ""},
		{RequestParts{Hosts: []string{"a.test", "a.test:80"}}, "hosts[1]: \"a.test:80\" is not the name"},
		{RequestParts{Hosts: []string{"*"}}, "hosts[0]"},
		{RequestParts{Hosts: []string{""}}, "hosts[0]"},
		{RequestParts{Methods: []string{"get"}}, "methods[0]: \"get\" is not a method; write it in capital letters: GET"},
		{RequestParts{Paths: []PathMatch{{PathExact, "a"}}}, "paths[0].value: \"a\" does not start with a slash"},
		{RequestParts{Paths: []PathMatch{{PathExact, "/a?b"}}}, "write %3F"},
		{RequestParts{Paths: []PathMatch{{PathPrefix, "/a/../b"}}}, "paths are normalized before the comparison"},
		{RequestParts{Paths: []PathMatch{{PathPrefix, "/a%2fb"}}}, "paths are normalized before the comparison"},
		{RequestParts{Paths: []PathMatch{{PathExact, "/é"}}}, "none is \"/é\" then; write \"/%C3%A9\""},
		{RequestParts{Paths: []PathMatch{{PathPrefix, "/%61dmin"}}}, "none is \"/%61dmin\" then; write \"/admin\""},
		{RequestParts{Paths: []PathMatch{{PathPrefix, "/%7euser/{id}"}}}, "write \"/~user/%7Bid%7D\""},
		{RequestParts{Paths: []PathMatch{{PathPrefix, "/%C3%a9/%20/100%"}}}, ""},
		{RequestParts{Paths: []PathMatch{{PathRegularExpression, "/(a"}}},
			`the regular expression "/(a" is invalid: missing ")"`},
		{RequestParts{Paths: []PathMatch{{PathRegularExpression, "/a(?=b)"}}}, "paths[0].value: the regular expression"},
		{RequestParts{Paths: []PathMatch{{"Prefix", "/a"}}}, "paths[0].type: \"Prefix\" is not a type"},
		{RequestParts{Headers: named(Exact, "a", "")}, "headers[0].values[1]: it is empty"},
		{RequestParts{Headers: named(Exact)}, "headers[0].values: type Exact compares"},
		{RequestParts{Headers: named(Present, "a")}, "headers[0].values: type Present takes any"},
		{RequestParts{Headers: named("", "a")}, "headers[0].type"},
		{RequestParts{Headers: named(RegularExpression, `\p{Foo}`)}, "headers[0].values[0]"},
		{RequestParts{Headers: named(RegularExpression, `((a{1000}){100}`)}, "headers[0].values[0]"},
		{RequestParts{Headers: []NamedMatch{{Name: "Host", Type: Present}}}, "headers[0].name: the Host header"},
		{RequestParts{Headers: []NamedMatch{{Name: ":path", Type: Present}}}, "headers[0].name: \":path\""},
		{RequestParts{Query: named(RegularExpression, "a")}, "query[0].type: parameters have no"},
		{RequestParts{ClientCIDRs: []string{"10.0.0.1"}}, "clientCIDRs[0]: \"10.0.0.1\" is an address; write 10.0.0.1/32"},
		{RequestParts{ClientCIDRs: []string{"10.0.0.1/8"}}, "write 10.0.0.0/8"},
		{RequestParts{ClientCIDRs: []string{"10.0.0.0/33"}}, "is not a range"},
		{RequestParts{ClientCIDRs: []string{"::ffff:10.0.0.0/104"}}, "IPv4 in IPv6"},
		{RequestParts{Claims: []ClaimMatch{{Claim: "a..b", Type: Present}}}, "claims[0].claim: it has an empty name"},
		{RequestParts{Claims: []ClaimMatch{{Claim: `a\b`, Type: Present}}}, "claims[0].claim: a backslash"},
		{RequestParts{Users: []string{""}}, "users[0]: it is empty"},
		{RequestParts{Certificates: []CertificateMatch{{URI: "a", DNS: "b", Type: Exact}}}, "2 of uri, dns and subject"},
		{RequestParts{Certificates: []CertificateMatch{{Subject: "CN=a", Type: Prefix}}}, "certificates[0].type"},
		{RequestParts{Certificates: []CertificateMatch{{Subject: "a", Type: Exact}}}, "write CN=a"},
		{RequestParts{Certificates: []CertificateMatch{{URI: "(", Type: RegularExpression}}}, `the regular expression "("`},
	} {
		checkProblem(t, RequestMatch{RequestParts: c.parts}, c.want)
	}
	checkProblem(t, RequestMatch{Not: &RequestParts{}}, "not: it states nothing")
	checkProblem(t, RequestMatch{Not: &RequestParts{CEL: "true"}}, "not.cel: an expression can't be negated")
	checkProblem(t, RequestMatch{Not: &RequestParts{Methods: []string{"get"}}}, "not.methods[0]")
}

func checkProblem(t *testing.T, m RequestMatch, want string) {
	t.Helper()
	var all []string
	for _, p := range ValidateMatch(m) {
		all = append(all, p.Field+": "+p.Message)
	}
	if got := strings.Join(all, "\n"); want == "" && got != "" || want != "" && (len(all) != 1 ||
		!strings.Contains(got, want)) {
		t.Errorf("%s: problems %q, want %q", DescribeMatch(m), got, want)
	}
}

// TestValidateCEL: what can't be evaluated is told with its place.
func TestValidateCEL(t *testing.T) {
	for expr, want := range map[string]string{
		"request.method == 'GET'":                   "",
		"has(request.headers.a) || source.port > 1": "",
		"request.method ==":                         "cel: line 1, column 18: Syntax error",
		"request.method == 'a'\n || foo":            "cel: line 2, column 5: undeclared reference to 'foo'; attributes are",
		"request.foo == 'a'":                        "undeclared reference",
		"response.code == 200":                      "undeclared reference",
		"request.method == 5":                       "no matching overload",
		"request.method":                            "it has type string",
		"['a'].exists(x, x == request.path)":        "exists() iterates over a list",
		"request.path + 'a' == 'b'":                 "+ is for numbers only",
		"string(source.port) == '1'":                "no function string()",
		"request.path.matches('(')":                 "missing \")\"",
		"request.path.matches(request.host)":        "as a text in quotes",
		"request.path.matches('[a-z]{40}')":         "too large",
		"{'a': 1}['a'] == 1":                        "can't make maps and messages",
		strings.Repeat("(1+", 40) + "1" + strings.Repeat(")", 40) + " == 1": "nests",
		strings.Repeat("!(", 200) + "true" + strings.Repeat(")", 200):       "",
	} {
		if strings.HasPrefix(expr, "!(!(") {
			want = "cel: " // by whichever bound
		}
		checkProblem(t, RequestMatch{RequestParts: RequestParts{CEL: expr}}, want)
	}
}

// TestNeedsIdentity: claims, users and metadata are known after authentication.
func TestNeedsIdentity(t *testing.T) {
	for want, list := range map[bool][]RequestParts{
		true: {
			{Claims: []ClaimMatch{{Claim: "a", Type: Present}}}, {Users: []string{"a"}},
			{CEL: "metadata.filter_metadata['a']['b'] == 'c'"}, {CEL: "'a' in filter_state"},
		},
		false: {
			{Methods: []string{"GET"}}, {CEL: "request.path == 'metadata'"},
			{Certificates: []CertificateMatch{{URI: "a"}}},
		},
	} {
		for _, p := range list {
			if (RequestMatch{RequestParts: p}).NeedsIdentity() != want || (RequestMatch{Not: &p}).NeedsIdentity() != want {
				t.Errorf("%+v: NeedsIdentity is not %v", p, want)
			}
		}
	}
}

func TestClaimPath(t *testing.T) {
	for claim, want := range map[string][]string{
		"sub": {"sub"}, "realm.roles": {"realm", "roles"}, `https://a\.b/c`: {"https://a.b/c"}, `a\\.b`: {`a\`, "b"},
	} {
		if got, err := ClaimPath(claim); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", claim, got, err)
		}
	}
}

func TestWords(t *testing.T) {
	m := RequestMatch{
		RequestParts: RequestParts{
			Methods: []string{"GET", "POST"}, Paths: []PathMatch{{PathPrefix, "/admin"}},
			Claims:  []ClaimMatch{{Claim: "team", Provider: "corp", Type: Exact, Values: []string{"dev"}}},
			Headers: []NamedMatch{{Name: "x-a", Type: Prefix, Values: []string{"b", "c"}, IgnoreCase: true}},
		},
		Not: &RequestParts{ClientCIDRs: []string{"10.0.0.0/8"}, Certificates: []CertificateMatch{{DNS: "a.b", Type: Suffix}}},
	}
	const want = "method GET or POST, path below /admin, header x-a starts with b or c in any case, " +
		"claim team of corp is dev, but not (client in 10.0.0.0/8, certificate with a DNS name that ends with a.b)"
	if got := DescribeMatch(m); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzCEL: no text makes the check fail in another way than by an error.
func FuzzCEL(f *testing.F) {
	f.Add("request.headers['a'] == 'b' && !has(request.headers.c)")
	f.Add("[1].all(x, x > 0)")
	f.Fuzz(func(_ *testing.T, expr string) {
		m := RequestMatch{RequestParts: RequestParts{CEL: expr}}
		if len(ValidateMatch(m)) == 0 {
			CELExpression(expr)
		}
	})
}
