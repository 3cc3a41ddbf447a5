package model

import "testing"

func path(kind PathType, value string) Match { return Match{Path: PathMatch{Type: kind, Value: value}} }

func with(m Match, method string, headers ...ValueMatch) Match {
	m.Method, m.Headers = method, headers
	return m
}

// TestMatchCovers: a wrong "yes" would tell a user that a rule takes no request while it does.
func TestMatchCovers(t *testing.T) {
	root, api := path(PathPrefix, "/"), path(PathPrefix, "/api")
	canary, anyVersion := ValueMatch{Name: "x", Value: "v2"}, ValueMatch{Name: "x", Value: ".*", Regex: true}
	third, other := ValueMatch{Name: "x", Value: "v3"}, ValueMatch{Name: "y", Value: "v2"}
	odd := ValueMatch{Name: "x", Value: "v[13]", Regex: true}
	call := func(service, method string, regex bool) Match {
		return Match{GRPC: &GRPCMatch{Service: service, Method: method, Regex: regex}}
	}
	for name, c := range map[string]struct {
		wide, narrow Match
		want         bool
	}{
		"the same":                           {api, api, true},
		"every path":                         {root, api, true},
		"every path, of none stated":         {Match{}, api, true},
		"every path, an expression":          {root, path(PathRegex, "/a(b|c)+"), true},
		"a longer prefix":                    {api, root, false},
		"below a prefix":                     {api, path(PathPrefix, "/api/v1"), true},
		"beside a prefix":                    {api, path(PathPrefix, "/apis"), false},
		"a path below a prefix":              {api, path(PathExact, "/api/v1"), true},
		"the prefix as a path":               {api, path(PathExact, "/api"), true},
		"a path beside a prefix":             {api, path(PathExact, "/apis"), false},
		"a prefix is more than a path":       {path(PathExact, "/api"), api, false},
		"a path with a slash":                {path(PathExact, "/api"), path(PathExact, "/api/"), false},
		"the case counts":                    {api, path(PathPrefix, "/API/v1"), false},
		"the same expression":                {path(PathRegex, "/a(b|c)"), path(PathRegex, "/a(b|c)"), true},
		"another expression":                 {path(PathRegex, "/a(b|c|d)"), path(PathRegex, "/a(b|c)"), false},
		"everything, by expression":          {path(PathRegex, "/.*"), root, true},
		"everything, of a prefix":            {path(PathRegex, "/.*"), api, true},
		"everything at all":                  {path(PathRegex, ".*"), root, true},
		"everything, of an expression":       {path(PathRegex, ".*"), path(PathRegex, "/a(b|c)"), true},
		"beginning, of a prefix below":       {path(PathRegex, "/api/.*"), path(PathPrefix, "/api/v1"), true},
		"beginning, of the prefix itself":    {path(PathRegex, "/api/.*"), api, false},
		"beginning, without a slash":         {path(PathRegex, "/api.*"), api, true},
		"an expression below a prefix":       {api, path(PathRegex, "/api/.*"), true},
		"an expression beside a prefix":      {api, path(PathRegex, "/api.*"), false},
		"a dot is any character":             {path(PathRegex, "/v1.0/.*"), path(PathExact, "/v1.0/a"), false},
		"an escaped dot is a dot":            {path(PathRegex, `/v1\.0/.*`), path(PathExact, "/v1.0/a"), true},
		"an escape of another kind":          {path(PathRegex, `/\d/.*`), path(PathExact, "/d/a"), false},
		"a choice":                           {path(PathRegex, "/a|/b.*"), path(PathExact, "/b/c"), false},
		"a star of the letter before":        {path(PathRegex, "/ab*.*"), path(PathExact, "/ab"), false},
		"any method":                         {api, with(api, "GET"), true},
		"a method":                           {with(api, "GET"), api, false},
		"other methods":                      {with(api, "GET"), with(api, "POST"), false},
		"any header":                         {api, with(api, "", canary), true},
		"a header":                           {with(api, "", canary), api, false},
		"another value":                      {with(api, "", canary), with(api, "", third), false},
		"another header":                     {with(api, "", canary), with(api, "", other), false},
		"any value":                          {with(api, "", anyVersion), with(api, "", canary), true},
		"any value, of an expression":        {with(api, "", anyVersion), with(api, "", odd), true},
		"any value, of none":                 {with(api, "", anyVersion), api, false},
		"a header more":                      {with(api, "", canary), with(api, "", ValueMatch{Name: "y"}, canary), true},
		"a parameter":                        {Match{Query: []ValueMatch{canary}}, Match{}, false},
		"any parameter":                      {Match{}, Match{Query: []ValueMatch{canary}}, true},
		"a header is no parameter":           {with(Match{}, "", canary), Match{Query: []ValueMatch{canary}}, false},
		"what an expression begins with":     {path(PathStart, "/api/v(1|"), path(PathExact, "/api/v2"), true},
		"what it begins with, of a prefix":   {path(PathStart, "/api/v1/(a|"), path(PathPrefix, "/api/v1/b"), true},
		"beside what it begins with":         {path(PathStart, "/api/v(1|"), path(PathExact, "/api/w"), false},
		"what a longer one begins with":      {path(PathStart, "/a(b|"), path(PathStart, "/ab[c"), true},
		"what a shorter one begins with":     {path(PathStart, "/ab[c"), path(PathStart, "/a(b|"), false},
		"it begins with less than its text":  {path(PathPrefix, "/v1.0"), path(PathStart, "/v1.0/(a|"), false},
		"a prefix of what it begins with":    {path(PathPrefix, "/v1"), path(PathStart, "/v1/(a|"), true},
		"its text is no path":                {path(PathStart, "/a(b|"), path(PathExact, "/a(b|/c"), true},
		"what takes nothing":                 {root, path(PathNone, "its expression is invalid"), false},
		"nothing takes nothing":              {path(PathNone, "x"), path(PathNone, "x"), false},
		"every call":                         {call("", "", false), call("a.B", "Do", false), true},
		"a service":                          {call("a.B", "", false), call("a.B", "Do", false), true},
		"a method of any service":            {call("", "Do", false), call("a.B", "Do", false), true},
		"a method of any service is more":    {call("a.B", "Do", false), call("", "Do", false), false},
		"another service":                    {call("a.B", "", false), call("a.BC", "Do", false), false},
		"services by expression":             {call("a[.].*", "", true), call("a.B", "Do", false), false},
		"services by how they begin":         {call(`a\..*`, "", true), call("a.B", "Do", false), true},
		"a call is no path":                  {root, call("a.B", "Do", false), false},
		"the same expression for a service":  {call("a(b|c)", "", true), call("a(b|c)", "Do", true), true},
		"an expression and a text are apart": {call("abc", "", true), call("abc", "", false), false},
	} {
		if got := c.wide.Covers(c.narrow); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
