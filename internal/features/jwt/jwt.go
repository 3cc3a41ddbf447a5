// Package jwt is the feature `jwt` of a SecurityPolicy: tokens of providers.
//
// It owns the fields, the format of key sets, and what Envoy makes of them. It must never know how policies are
// attached, nor where key sets come from. Start reading at Feature; spec.go has the fields.
package jwt

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Value is the spec as read.
type Value struct {
	Mode      Mode
	Providers []ResolvedProvider // those that count
}

// ResolvedProvider is a provider as read.
type ResolvedProvider struct {
	Name, Issuer      string
	Audiences         []string
	Subjects          *extend.StringMatch
	Keys              Keys
	From              []Source
	Claims            []Claim
	Forward           bool
	Skew, MaxLifetime time.Duration
	RequireExpiration bool
}

// Keys are a provider's.
type Keys struct {
	Text string // a key set as Envoy takes it; "": proxies fetch it
	// Document is what is fetched; zero: nothing. It stands for the keys where those that depend on them are named, so
	// that other keys change no name.
	Document extend.Document
}

// Source is a place where a token can stand. One of Header, Query and Cookie is stated.
type Source struct{ Header, Prefix, Query, Cookie string }

// Claim is a claim, by the names that lead to it, and its header.
type Claim struct {
	Path   []string
	Header string // in small letters
}

// Feature is authentication by token.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.SecurityPolicy, Name: "jwt", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Group: "authentication", DisabledWith: extend.Authentication, Names: []string{"providers"}, SkipHTTPSRedirect: true,
	Read: readSpec, Renders: renders, Judge: judgeRequest, Describe: describeValue, Sets: listIdentityHeaders,
	Agents: extend.Agents[Value]{Judge: func(extend.Request) []extend.Verdict { return nil }},
}

func judgeRequest(q extend.Request, v Value) []extend.Verdict {
	var names []string
	brought := q.Agent != nil && len(q.Agent.Claims) > 0
	for _, p := range v.Providers {
		names = append(names, p.Name)
		brought = brought || slices.ContainsFunc(p.From, func(s Source) bool { return s.presentIn(q) })
	}
	accepted := "the token is accepted by " + strings.Join(names, " or ")
	switch {
	case !brought && v.Mode == Strict:
		return []extend.Verdict{{Status: http.StatusUnauthorized, Why: "it has no token"}}
	case !brought:
		return nil
	case v.Mode == Permissive:
		return []extend.Verdict{{If: accepted}}
	}
	list := []extend.Verdict{{Status: http.StatusUnauthorized, If: accepted}}
	if slices.ContainsFunc(v.Providers, func(p ResolvedProvider) bool { return len(p.Audiences) > 0 }) {
		list = append(list, extend.Verdict{Status: http.StatusForbidden, If: "it is for one of the audiences"})
	}
	return list
}

// presentIn tells whether a request has a token at a place.
func (s Source) presentIn(q extend.Request) bool {
	if s.Cookie != "" {
		_, err := (&http.Request{Header: q.Header}).Cookie(s.Cookie)
		return err == nil
	}
	if s.Query != "" {
		_, query, _ := strings.Cut(q.Path, "?")
		values, err := url.ParseQuery(query)
		return err == nil && values.Has(s.Query)
	}
	return slices.ContainsFunc(q.Header.Values(s.Header), func(value string) bool {
		return strings.HasPrefix(value, s.Prefix)
	})
}

func describeValue(v Value) (list []string) {
	for _, p := range v.Providers {
		list = append(list, fmt.Sprintf("%s: a token of %s (%s)", v.Mode, p.Name, p.Issuer))
	}
	return list
}
