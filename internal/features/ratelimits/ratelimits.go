// Package ratelimits is the feature `rateLimits` of a TrafficPolicy: how many requests pass in a time.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached, nor which tokens are
// accepted. Start reading at Feature; spec.go has the fields, envoy.go where Envoy counts.
package ratelimits

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Value is the limits that hold, by name.
type Value struct {
	Limits []ResolvedLimit
	Lifted []string // names of limits that do not count
}

// ResolvedLimit is a limit as read.
type ResolvedLimit struct {
	Name string
	// ID tells its counters from those of others: by the policy that states it, its name and its content.
	ID              string
	When            []extend.RequestMatch
	Per             []extend.RequestDimension
	Together        bool // requests without a value of Per share a counter; else each client has one
	Requests, Burst uint32
	Interval        time.Duration
	Cost            uint32 // of a request
	Late            bool   // it is counted after authentication
	Proxy           bool   // each proxy lets all of it pass
	EachRule        bool
	Shadow, Headers bool
	Status          int32 // 0: none is stated
}

// Feature is limits of requests. A limit that can't be served is left out, and all others hold.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "rateLimits", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Keep,
	Protects: true, Read: readSpec, Renders: renders, Judge: judgeRequest, Describe: describeValue,
	Reads: listReadHeaders, Identified: listIdentified,
}

// listReadHeaders are the headers that limits before authentication depend on.
func listReadHeaders(v Value) (names []string) {
	for _, l := range v.Limits {
		if !l.Late {
			names = append(names, headersOf(l.When, l.Per)...)
		}
	}
	return names
}

// headersOf are the headers that requests are told apart by.
func headersOf(when []extend.RequestMatch, per []extend.RequestDimension) (names []string) {
	for _, m := range when {
		names = append(names, m.HeaderNames()...)
	}
	for _, d := range per {
		if d.Header != nil {
			names = append(names, strings.ToLower(*d.Header))
		}
	}
	return names
}

// judgeRequest tells which limits may be used up: what was counted before a request can't be told. One that does not
// count the request refuses nothing.
func judgeRequest(q extend.Request, v Value) (list []extend.Verdict) {
	for _, early := range []bool{true, false} {
		for _, l := range v.Limits {
			if l.Late == early || !l.mayCount(q) {
				continue
			}
			v := extend.Verdict{
				Status: http.StatusTooManyRequests, RefusedIf: fmt.Sprintf("limit %s (%s) is used up", l.Name, l.describeRate()),
				ByAddress: l.byAddress(), At: string(l.filterSlot()),
			}
			if l.Shadow {
				v.Shadow = fmt.Sprintf("rateLimits[%s] in mode Shadow", l.Name)
			}
			list = append(list, v)
		}
	}
	return list
}

// mayCount tells whether a limit may count a request.
func (l ResolvedLimit) mayCount(q extend.Request) bool {
	return len(l.When) == 0 || slices.ContainsFunc(l.When, func(m extend.RequestMatch) bool {
		return m.Matches(q, l.Late) != extend.CertainlyNot
	})
}

func describeValue(v Value) (list []string) {
	for _, l := range v.Limits {
		text := l.Name + ": " + l.describeRate() + ", at each port"
		if l.Late {
			text += ", after authentication"
		}
		if l.Proxy {
			text += ", at each proxy"
		}
		if l.Shadow {
			text += "; requests over the limit pass"
		}
		list = append(list, text)
	}
	for _, name := range v.Lifted {
		list = append(list, name+": no limit applies; its other fields are ignored")
	}
	return list
}

// describeRate is "100 per 1s for each client address and header x-tenant, of requests with path below /orders".
func (l ResolvedLimit) describeRate() string {
	text := fmt.Sprintf("%d per %s", l.Requests, formatInterval(l.Interval))
	var per []string
	for _, d := range l.Per {
		per = append(per, describeDimension(d))
	}
	if l.EachRule {
		per = append(per, "rule")
	}
	if len(per) > 0 {
		text += " for each " + strings.Join(per, " and ")
	}
	switch {
	case !slices.ContainsFunc(l.Per, mayBeAbsent):
	case l.Together:
		text += " (requests without one share a counter)"
	default:
		text += " (requests without one are counted by client address)"
	}
	var when []string
	for _, m := range l.When {
		when = append(when, extend.DescribeMatch(m))
	}
	if len(when) > 0 {
		text += ", of requests with " + strings.Join(when, "; or ")
	}
	return text
}

func (l ResolvedLimit) byAddress() bool {
	return slices.ContainsFunc(l.Per, func(d extend.RequestDimension) bool { return d.ClientAddress != nil }) ||
		!l.Together && slices.ContainsFunc(l.Per, mayBeAbsent) ||
		slices.ContainsFunc(l.When, extend.RequestMatch.ByAddress)
}

// mayBeAbsent tells whether a request may have no value of a dimension.
func mayBeAbsent(d extend.RequestDimension) bool {
	return d.ClientAddress == nil && d.Path == nil && d.Method == nil
}

// listIdentified are the parts of limits that count by who sent a request.
func listIdentified(s Spec) (list []extend.IdentityField) {
	for _, l := range s {
		field := func(list string, i int) string { return fmt.Sprintf("[%s].%s[%d]", l.Name, list, i) }
		otherwise := "requests are counted by client address instead"
		if l.Absent == AllTogether {
			otherwise = "all requests share one counter"
		}
		for i, d := range l.Per {
			if d.NeedsIdentity() {
				list = append(list, extend.IdentityField{
					Field: field("per", i), Token: d.Claim != nil, Otherwise: otherwise,
				})
			}
		}
		for i, m := range l.When {
			if m.NeedsIdentity() {
				list = append(list, extend.IdentityField{
					Field: field("when", i), Token: len(m.Claims) > 0 && len(m.Users) == 0,
					Otherwise: "the request is handled as if it had none",
				})
			}
		}
	}
	return list
}

// formatInterval is a duration without parts that are zero: "1h", not "1h0m0s".
func formatInterval(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if cut, found := strings.CutSuffix(text, zero[1:]); found && strings.HasSuffix(text, zero) {
			text = cut
		}
	}
	return text
}

func describeDimension(d extend.RequestDimension) string {
	switch {
	case d.ClientAddress != nil:
		v4, v6 := prefixLengths(*d.ClientAddress)
		if v4 == wholeV4 && v6 == clientV6 {
			return "client address"
		}
		return fmt.Sprintf("client network (/%d, IPv6 /%d)", v4, v6)
	case d.Header != nil:
		return "header " + *d.Header
	case d.Claim != nil:
		return "claim " + *d.Claim
	case d.Cookie != nil:
		return "cookie " + *d.Cookie
	case d.Query != nil:
		return "query parameter " + *d.Query
	case d.User != nil:
		return "user"
	case d.Path != nil:
		return "path"
	}
	return "method"
}

// The lengths of prefixes where none is stated.
const (
	wholeV4  = 32
	clientV6 = 64 // what a client has at least
)

func prefixLengths(a extend.AddressDimension) (v4, v6 uint32) {
	v4, v6 = wholeV4, clientV6
	if a.PrefixV4 != nil {
		v4 = uint32(*a.PrefixV4)
	}
	if a.PrefixV6 != nil {
		v6 = uint32(*a.PrefixV6)
	}
	return v4, v6
}

// needsIdentity tells whether requests can be counted only when it is known who sent them.
func (l Limit) needsIdentity() bool {
	return slices.ContainsFunc(l.Per, extend.RequestDimension.NeedsIdentity) ||
		slices.ContainsFunc(l.When, extend.RequestMatch.NeedsIdentity)
}
