package access

import (
	"bytes"
	"slices"
	"testing"
)

// TestSourcesThatMeet: callers of a source are compared with those of another one by one that the source takes; of
// tokens, nothing is certain.
func TestSourcesThatMeet(t *testing.T) {
	t.Parallel()
	id := func(how TextType, value string) Source {
		return Source{SPIFFE: &TextMatch{how, "spiffe://td/" + value}}
	}
	token := Source{JWT: &JWT{Subject: "ann"}}
	for _, c := range []struct {
		of, by Source
		want   bool
	}{
		{id(Exact, "a"), id(Exact, "a"), true},
		{id(Exact, "a"), id(Exact, "b"), false},
		{id(Exact, "a/b"), id(Prefix, "a/"), true},
		{id(Prefix, "a/"), id(Exact, "a/b"), false},
		{id(Wildcard, "ns/*/sa/a"), id(Prefix, "ns/"), true},
		{id(Wildcard, "ns/*/sa/a"), id(Wildcard, "ns/*/sa/*"), true},
		{token, Source{JWT: &JWT{Issuer: "https://corp"}}, true},
		{token, id(Prefix, ""), false},
		{id(Exact, "a"), token, false},
	} {
		if got := c.of.mayOverlap(c.by); got != c.want {
			t.Errorf("%+v of %+v: %v, want %v", c.of, c.by, got, c.want)
		}
	}
}

// TestMethodsOfBothVersions: the schema has, and the reader takes, every method by which clients ask for something, of
// the protocol of 2026-07-28 and of older ones; what begins and keeps sessions is of the base protocol.
func TestMethodsOfBothVersions(t *testing.T) {
	t.Parallel()
	known := slices.Concat(methodFamilies, methodsWithParams, methodsWithoutParams)
	for _, method := range []string{
		"server/discover", "subscriptions/listen", "tools/list", "tools/call", "prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
		"completion/complete",
	} {
		if !bytes.Contains(schema, []byte(`"`+method+`"`)) || !slices.Contains(known, method) {
			t.Errorf("%s is not in the schema, or the reader refuses it", method)
		}
	}
	for _, method := range []string{
		"initialize", "server/discover", "ping", "tools/list", "subscriptions/listen", "notifications/cancelled",
		"completion/complete", "logging/setLevel",
	} {
		c := Call{Server: true, Method: "POST", Message: &Message{Method: method}}
		if !(MCP{MCPBaseProtocolMethodsOption: MatchBase}).matchesCall(c, false) {
			t.Errorf("%s is not of the base protocol", method)
		}
	}
}
