package extend

import (
	"net/http"
	"testing"
)

// TestTakes: what a request says decides, and what the proxy alone knows can't be told. TestBehaviour compares this
// with what Envoy does.
func TestTakes(t *testing.T) {
	q := Request{
		Method: "GET", Host: "Shop.Example:8080", Path: "/a/b?x=1&sp=a+b&%79=%41",
		Header: http.Header{
			"X-A": {"one", "Two"}, "X-E": {"é"}, "X-Id": {"(an ID that the proxy makes)"}, "Cookie": {"a=1", "b=2"},
		},
	}
	header := func(name string, of MatchType, ignoreCase bool, values ...string) RequestParts {
		return RequestParts{Headers: []NamedMatch{{Name: name, Type: of, Values: values, IgnoreCase: ignoreCase}}}
	}
	query := func(name string, of MatchType, values ...string) RequestParts {
		return RequestParts{Query: []NamedMatch{{Name: name, Type: of, Values: values}}}
	}
	path := func(of PathMatchType, value string) RequestParts {
		return RequestParts{Paths: []PathMatch{{of, value}}}
	}
	for name, c := range map[string]struct {
		parts RequestParts
		want  Truth
	}{
		"host":           {RequestParts{Hosts: []string{"other.ex", "shop.example"}}, Certainly},
		"wildcard":       {RequestParts{Hosts: []string{"*.EXAMPLE"}}, Certainly},
		"not below":      {RequestParts{Hosts: []string{"*.shop.example"}}, CertainlyNot},
		"method":         {RequestParts{Methods: []string{"POST"}}, CertainlyNot},
		"path":           {path(PathExact, "/a/b"), Certainly},
		"other path":     {path(PathExact, "/a"), CertainlyNot},
		"prefix":         {path(PathPrefix, "/a/"), Certainly},
		"other element":  {path(PathPrefix, "/a/bc"), CertainlyNot},
		"expression":     {path(PathRegularExpression, "/[a]/."), Certainly},
		"part of a path": {path(PathRegularExpression, "/a"), CertainlyNot},
		"one value":      {header("x-a", Exact, false, "Two", "x"), Certainly},
		"case":           {header("x-a", Exact, false, "two"), CertainlyNot},
		"any case":       {header("X-A", Suffix, true, "WO"), Certainly},
		"starts":         {header("x-a", Prefix, false, "on"), Certainly},
		"contains":       {header("x-a", Contains, false, "w"), Certainly},
		"header like":    {header("x-a", RegularExpression, true, "t.O"), Certainly},
		"bytes":          {header("x-e", RegularExpression, false, ".."), Unknown},
		"present":        {header("x-a", Present, false), Certainly},
		"absent":         {header("x-b", Present, false), CertainlyNot},
		"absent value":   {header("x-b", Exact, false, "1"), CertainlyNot},
		"of the client":  {header("user-agent", Present, false), Unknown},
		"of the proxy":   {header("x-id", Exact, false, "1"), Unknown},
		"cookies":        {header("cookie", Contains, false, "b"), Unknown},
		"query":          {query("x", Exact, "1"), Certainly},
		"decoded":        {query("y", Exact, "A"), Certainly},
		"blank":          {query("sp", Suffix, " b"), Certainly},
		"other query":    {query("x", Exact, "2"), CertainlyNot},
		"no parameter":   {query("z", Present), CertainlyNot},
		"client":         {RequestParts{ClientCIDRs: []string{"::/0"}}, Unknown},
		"claim":          {RequestParts{Claims: []ClaimMatch{{Claim: "a", Type: Present}}}, Unknown},
		"user":           {RequestParts{Users: []string{"a"}}, Unknown},
		"certificate":    {RequestParts{Certificates: []CertificateMatch{{DNS: "a", Type: Exact}}}, Unknown},
		"CEL":            {RequestParts{CEL: "true"}, Unknown},
		"CEL and method": {RequestParts{Methods: []string{"PUT"}, CEL: "true"}, CertainlyNot},
	} {
		if got := (RequestMatch{RequestParts: c.parts}).Matches(q, false); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if got := (RequestMatch{Not: &c.parts}).Matches(q, false); got != -c.want {
			t.Errorf("not %s: %d, want %d", name, got, -c.want)
		}
		late := c.want
		if len(c.parts.Headers)+len(c.parts.Query) > 0 {
			late = Unknown
		}
		if got := (RequestMatch{RequestParts: c.parts}).Matches(q, true); got != late {
			t.Errorf("%s after authentication: %d, want %d", name, got, late)
		}
	}
}
