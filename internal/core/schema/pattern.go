package schema

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Parts of the patterns of the schemas.
const (
	label     = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	subdomain = label + `(\.` + label + `)*`
	qualified = `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
	duration  = `^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	method    = `^[A-Z][A-Z-]*$`
	longName  = `([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]`
	quantity  = `(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))`
	charsets  = `\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$`
)

// The descriptions of values that several patterns match, each with an example.
const (
	aName     = "a name of small letters, digits, - and ., such as shop.example"
	labelKey  = "a label's key, such as app or example.com/app"
	hostname  = "a hostname in small letters, such as shop.example or *.example"
	aDomain   = "a domain and a path, such as example.com/name"
	anAddress = "the type of an address: IPAddress, Hostname, NamedAddress, or one such as example.com/name"
)

// patterns are the words of a pattern. A test holds them against those of all schemas.
var patterns = map[string]string{
	duration:                           "a duration such as 1500ms, 5s or 1h30m",
	method:                             "a method in capital letters, such as GET",
	`^` + label + `$`:                  "a name of small letters, digits and -, such as shop-1",
	`^` + subdomain + `$`:              aName,
	`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`: aName,
	`^$|^` + subdomain + `$`:           `a group of the API, such as gateway.networking.k8s.io, or "" for the core group`,
	`^(\*\.)?` + subdomain + `$`:       hostname,
	`^` + subdomain + charsets:         aDomain,

	`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`: "a kind, such as Service",
	`^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|` + subdomain + `\/[A-Za-z0-9]+$`: "a protocol: HTTP, HTTPS, or one such " +
		"as example.com/name",
	`^Hostname|IPAddress|NamedAddress|` + subdomain + charsets: anAddress,
	`^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`:                        "the name of a header, such as x-user",
	`^[!-~]+([\t ]?[!-~]+)*$`:                                  "a header's value: printable ASCII, single spaces inside",
	`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`:                 "the reason of a condition, such as NotReady",

	`^(` + subdomain + `/)?(` + qualified + `)$`:              labelKey,
	`^(` + subdomain + `/)?` + longName + `$`:                 labelKey,
	`^(` + qualified + `)?$`:                                  "a label's value, such as web",
	`^(System|(` + subdomain + `/` + longName + `))$`:         "System, or a name such as example.com/name",
	`^(([^:/?#]+):)(//([^/?#]*))([^?#]*)(\?([^#]*))?(#(.*))?`: "an absolute URI, such as spiffe://cluster.local/ns/a/sa/b",
	`^spiffe://[a-z0-9._-]+(?:/[A-Za-z0-9._-]+)*$`:            "a SPIFFE ID, such as spiffe://cluster.local/ns/a/sa/b",

	`(^\*$)|(^(http(s)?):\/\/(((\*\.)?([a-zA-Z0-9\-]+\.)*[a-zA-Z0-9-]+|\*)(:([0-9]{1,5}))?)$)`: "an origin without a " +
		"path, such as https://shop.example or https://*.example",
	`^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$`: "a path, such as /cart, with other characters as in a URL " +
		"(%20 for a space)",
	`^/`:                               "a path, which begins with /",
	`^/[^?#\s]*$`:                      "a path, which begins with / and has no ?, # or space",
	`^[1-5]([0-9][0-9]|xx)$`:           "a status such as 404, or 4xx for all of them",
	`^[1-5][0-9]{2}(-[1-5][0-9]{2})?$`: "a status such as 404, or some of them such as 500-599",

	`^[A-Za-z_][A-Za-z_0-9]*$`:                       "a method of gRPC: letters, digits and _, such as GetCart",
	`^(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$`: "a service of gRPC with its package, such as shop.v1.Cart",
	`^[a-z0-9._-]+$`:                                 "a name of small letters, digits, ., _ and -",
	`^[a-z0-9_.-]+$`:                                 "a name of small letters, digits, _, . and -",
	`^[A-Za-z0-9_.-]+$`:                              "a name of letters, digits, _, . and -",
	`^[A-Za-z0-9+/]{43}=$`:                           "a SHA-256 hash in base64: 43 characters and =",
	`^[0-9a-fA-F]{2}(:?[0-9a-fA-F]{2}){31}$`:         "a SHA-256 hash in hex: 64 digits, with or without colons",
	`^[A-Z]{2,5}$`:                                   "two to five capital letters, such as DE",
	`^(\+|-)?` + quantity + `(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?` + quantity + `))?$`: "a quantity such as 64Ki, 10Mi " +
		"or 500m",
}

// DescribePattern says what a value is that a pattern of a schema takes, with an example: "a duration such as 1500ms,
// 5s or 1h30m"; "" if it has no words.
func DescribePattern(pattern string) string { return patterns[pattern] }

// matching is how rules of the Gateway API name a pattern in their messages.
var matching = regexp.MustCompile(` \(matching (\^.*\$)\)`)

// inWords says the pattern of a message in words, or leaves it out where it has none.
func inWords(detail string) string {
	return matching.ReplaceAllStringFunc(detail, func(text string) string {
		if words := DescribePattern(matching.FindStringSubmatch(text)[1]); words != "" {
			return " (" + words + ")"
		}
		return ""
	})
}

// explainPattern says in words what a pattern wants, and where it is plain what to write in place of a value; false if
// the pattern has no words.
func explainPattern(pattern, value string) (message string, ok bool) {
	words := DescribePattern(pattern)
	if words == "" {
		return "", false
	}
	message = "expected " + words + ", got " + showValue(value)
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return message, true
	}
	for _, instead := range suggestValues(pattern, value) {
		if instead != value && wanted.MatchString(instead) {
			return message + ": write " + instead, true
		}
	}
	return message, true
}

// suggestValues lists values that may have been meant.
func suggestValues(pattern, value string) []string {
	switch bare := strings.TrimSpace(value); pattern {
	case duration:
		return []string{durationText(bare)}
	case method:
		return []string{strings.ToUpper(bare)}
	default:
		return []string{bare, strings.ToLower(bare), strings.TrimRight(bare, "/")}
	}
}

// durationText is a duration as the Gateway API writes it (GEP-2257), in whole milliseconds; "" if it can't be.
func durationText(value string) string {
	d, err := time.ParseDuration(strings.ToLower(value))
	switch {
	case err != nil || d < 0 || d%time.Millisecond != 0:
		return ""
	case d%time.Second == 0 && d < 100_000*time.Second:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 100*time.Second:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d%time.Second != 0:
		return fmt.Sprintf("%ds%dms", d/time.Second, d%time.Second/time.Millisecond)
	}
	return fmt.Sprintf("%dh%ds", d/time.Hour, d%time.Hour/time.Second)
}
