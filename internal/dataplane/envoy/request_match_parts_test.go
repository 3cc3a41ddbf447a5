package envoy

import (
	"testing"

	"cardea.dev/cardea/extend"
)

func parts(p extend.RequestParts) extend.RequestMatch { return extend.RequestMatch{RequestParts: p} }

func not(p extend.RequestParts) extend.RequestMatch { return extend.RequestMatch{Not: &p} }

func onHeader(t extend.MatchType, ignoreCase bool, values ...string) extend.RequestMatch {
	return parts(extend.RequestParts{Headers: []extend.NamedMatch{
		{Name: "X-Team", Type: t, Values: values, IgnoreCase: ignoreCase},
	}})
}

func onQuery(t extend.MatchType, ignoreCase bool, values ...string) extend.RequestMatch {
	return parts(extend.RequestParts{Query: []extend.NamedMatch{
		{Name: "role", Type: t, Values: values, IgnoreCase: ignoreCase},
	}})
}

func onPath(t extend.PathMatchType, value string) extend.RequestMatch {
	return parts(extend.RequestParts{Paths: []extend.PathMatch{{Type: t, Value: value}}})
}

// TestMatchHostsAndPaths: hosts are compared in any case and with any port, methods as they are sent, paths as routes
// compare them; no spelling of a path gets around that.
func TestMatchHostsAndPaths(t *testing.T) {
	testMatches(t, map[string]matchCase{
		"host": {
			match: parts(extend.RequestParts{Hosts: []string{"Admin.example.com"}}),
			hits:  []string{"GET admin.example.com /", "GET ADMIN.Example.com:8080 /", "GET admin.example.com: /"},
			other: []string{"GET other.example.com /", "GET admin.example.com.evil.com /", "GET adminxexample.com /",
				"GET a.admin.example.com /", "GET other.com / | x-forwarded-host: admin.example.com"},
		},
		"wildcard": {
			match: parts(extend.RequestParts{Hosts: []string{"*.example.com", "shop.test"}}),
			hits:  []string{"GET a.example.com /", "GET a.b.EXAMPLE.com:80 /", "GET shop.test /"},
			other: []string{"GET example.com /", "GET aexample.com /", "GET a.example.com.evil /", "GET a.shop.test /"},
		},
		"method": {
			match: parts(extend.RequestParts{Methods: []string{"GET", "DELETE"}}),
			hits:  []string{"GET x /", "DELETE x /"},
			other: []string{"POST x /", "PUT x / | x-http-method-override: GET"},
		},
		"exact path": {
			match: onPath(extend.PathExact, "/admin"),
			hits: []string{"GET x /admin", "GET x /admin?a=b", "GET x /a/../admin", "GET x //admin", "GET x /./admin",
				"GET x /%61dmin"},
			other: []string{"GET x /admin/", "GET x /Admin", "GET x /admin/a", "GET x /b?/admin"},
			moved: []string{"GET x /a%2F..%2Fadmin", "GET x /a%5C..%5Cadmin"},
		},
		"root": {
			match: onPath(extend.PathExact, "/"),
			hits:  []string{"GET x /", "GET x //", "GET x ///?a", "GET x /a/.."},
			other: []string{"GET x /a"},
		},
		"prefix": {
			match: onPath(extend.PathPrefix, "/admin/"),
			hits: []string{"GET x /admin", "GET x /admin/", "GET x /admin?x", "GET x /admin/a/b", "GET x //admin//a",
				"GET x /b/../admin/a"},
			other: []string{"GET x /adminx", "GET x /", "GET x /b/admin", "GET x /admin/../b"},
			moved: []string{"GET x /%2fadmin", "GET x /admin%2fa"},
		},
		"every path": {
			match: onPath(extend.PathPrefix, "/"), hits: []string{"GET x /", "GET x /a/b?c"},
		},
		"regex path": {
			match: onPath(extend.PathRegularExpression, "/v[12]/.*|/old"),
			hits:  []string{"GET x /v1/a", "GET x /v2/", "GET x /old?x"},
			other: []string{"GET x /v3/a", "GET x /x/v1/a", "GET x /older", "GET x /?/v1/a"},
		},
		"all": {
			match: parts(extend.RequestParts{Methods: []string{"POST"}, Hosts: []string{"a.test"},
				Paths: []extend.PathMatch{{Type: extend.PathExact, Value: "/a"}, {Type: extend.PathExact, Value: "/b"}}}),
			hits:  []string{"POST a.test /a", "POST a.test /b"},
			other: []string{"GET a.test /a", "POST b.test /a", "POST a.test /c"},
		},
		"not": {
			match: extend.RequestMatch{
				RequestParts: extend.RequestParts{Methods: []string{"GET"}},
				Not: &extend.RequestParts{
					Hosts: []string{"a.test"}, Paths: []extend.PathMatch{{Type: extend.PathPrefix, Value: "/open"}},
				},
			},
			hits:  []string{"GET a.test /", "GET b.test /open"},
			other: []string{"GET a.test /open/x", "POST a.test /"},
		},
	})
}

// TestMatchHeaders: each value of a header is compared by itself.
func TestMatchHeaders(t *testing.T) {
	const a, b, both = "GET x / | x-team: Dev", "GET x / | X-TEAM: ops", "GET x / | x-team: ops | x-team: Dev"
	const none, empty, joined = "GET x /", "GET x / | x-team:", "GET x / | x-team: Dev, ops"
	testMatches(t, map[string]matchCase{
		"exact": {
			match: onHeader(extend.Exact, false, "Dev", "qa"),
			hits:  []string{a, both, "GET x / | x-team: qa"},
			other: []string{b, none, empty, joined, "GET x / | x-team: dev"},
		},
		"any case": {
			match: onHeader(extend.Exact, true, "dEV"), hits: []string{a, both, "GET x / | x-team: dev"},
			other: []string{b, none},
		},
		"prefix": {
			match: onHeader(extend.Prefix, true, "de"), hits: []string{a, both, joined},
			other: []string{b, empty, "GET x / | x-team: ade"},
		},
		"suffix": {
			match: onHeader(extend.Suffix, false, "ev"), hits: []string{a, both}, other: []string{b, none, joined},
		},
		"contains": {
			match: onHeader(extend.Contains, false, "e"), hits: []string{a, both, joined},
			other: []string{b, none, empty},
		},
		"regex": {
			match: onHeader(extend.RegularExpression, false, "D.v", "q+"),
			hits:  []string{a, both, "GET x / | x-team: qq"},
			other: []string{b, none, joined, "GET x / | x-team: Devs"},
		},
		"regex in any case": {
			match: onHeader(extend.RegularExpression, true, `\Qd`, "x|dev"),
			hits:  []string{a, both, "GET x / | x-team: D"},
			other: []string{b, none, "GET x / | x-team: xx"},
		},
		"present": {
			match: onHeader(extend.Present, false), hits: []string{a, b, both, empty},
			other: []string{none, "GET x / | x-team2: a"},
		},
		"absent": {
			match: not(onHeader(extend.Present, false).RequestParts), hits: []string{none},
			other: []string{a, both, empty},
		},
		"not": {
			match: not(onHeader(extend.Exact, false, "Dev").RequestParts), hits: []string{b, none, empty},
			other: []string{a, both},
		},
		"each": {
			match: parts(extend.RequestParts{Headers: []extend.NamedMatch{
				{Name: "x-team", Type: extend.Exact, Values: []string{"Dev"}},
				{Name: "x-env", Type: extend.Exact, Values: []string{"test"}},
			}}),
			hits: []string{a + " | x-env: test"}, other: []string{a, none + " | x-env: test"},
		},
	})
}

// TestMatchQuery: names and values are compared decoded, and each value of a parameter by itself.
func TestMatchQuery(t *testing.T) {
	testMatches(t, map[string]matchCase{
		"exact": {
			match: onQuery(extend.Exact, false, "ad min", "a&b=é+"),
			hits: []string{"GET x /?role=ad+min", "GET x /p?a=b&role=ad%20min&c", "GET x /?role=user&role=ad%20min",
				"GET x /?r%6Fle=%61d%20min", "GET x /?role=a%26b%3d%C3%A9%2b", "GET x /?role=a%26b=%c3%a9+"},
			other: []string{"GET x /", "GET x /?role=admin", "GET x /?role=ad+mins", "GET x /?xrole=ad+min",
				"GET x /role=ad+min",
				"GET x /?x?role=ad+min", "GET x /?role=Ad+min", "GET x /?role=a&b=%C3%A9", "GET x /?role",
				"GET x /?a=role=ad+min"},
		},
		"any case": {
			match: onQuery(extend.Exact, true, "admin"),
			hits:  []string{"GET x /?role=ADMIN", "GET x /?role=%41dm%69n"},
			other: []string{"GET x /?ROLE=admin", "GET x /?role=ad"},
		},
		"prefix": {match: onQuery(extend.Prefix, false, "ad"), hits: []string{"GET x /?role=admin&x"},
			other: []string{"GET x /?role=xad"}},
		"suffix": {match: onQuery(extend.Suffix, false, "in"), hits: []string{"GET x /?role=admin"},
			other: []string{"GET x /?role=ad&b=in"}},
		"contains": {match: onQuery(extend.Contains, false, "dm"), hits: []string{"GET x /?role=admin"},
			other: []string{"GET x /?role=a&x=dm"}},
		"present": {
			match: onQuery(extend.Present, false), hits: []string{"GET x /?role", "GET x /?role=", "GET x /?a&role=b&c"},
			other: []string{"GET x /", "GET x /?roles", "GET x /?a=role"},
		},
		"not": {
			match: not(onQuery(extend.Exact, false, "admin").RequestParts),
			hits:  []string{"GET x /", "GET x /?role=user"},
			other: []string{"GET x /?role=admin", "GET x /?role=user&role=%61dmin"},
		},
	})
}

// TestMatchAddresses: a client's address is that of its connection; what it says of others counts for nothing.
func TestMatchAddresses(t *testing.T) {
	const spoofed = "GET x / | x-forwarded-for: 10.1.1.1 | x-envoy-external-address: 10.1.1.1 | forwarded: for=10.1.1.1"
	testMatches(t, map[string]matchCase{
		"here": {
			match: parts(extend.RequestParts{ClientCIDRs: []string{"2001:db8::/32", "127.0.0.0/8"}}),
			hits:  []string{"GET x /", spoofed},
		},
		"elsewhere": {
			match: parts(extend.RequestParts{ClientCIDRs: []string{"10.0.0.0/8"}}), other: []string{"GET x /", spoofed},
		},
		"not": {match: not(extend.RequestParts{ClientCIDRs: []string{"10.0.0.0/8"}}),
			hits: []string{"GET x /", spoofed}},
		"all": {match: parts(extend.RequestParts{ClientCIDRs: []string{"0.0.0.0/0"}}), hits: []string{"GET x /"}},
	})
}
