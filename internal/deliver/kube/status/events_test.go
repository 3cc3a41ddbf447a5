package status

import (
	"fmt"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// TestNotesOfListeners: an Event about a listener tells of that listener, though the Gateway's findings are about all
// of them.
func TestNotesOfListeners(t *testing.T) {
	finding := func(section, condition, reason, message string) model.Finding {
		return model.Finding{Section: section, Condition: condition, Reason: reason, Message: message}
	}
	findings := []model.Finding{
		finding("http", "Conflicted", "ProtocolConflict", "port 82 has the protocol HTTP here, but HTTPS in listener https"),
		finding("tls", "Accepted", "UnsupportedProtocol", "protocol TLS is not supported"),
		finding("tcp", "Accepted", "UnsupportedProtocol", "protocol TCP is not supported"),
	}
	var turns []transition
	for _, f := range findings {
		turns = append(turns, transition{place: `"` + f.Section + `"`,
			is: condition{Type: "Accepted", Status: "False", Reason: f.Reason, Message: f.Message}})
	}
	turns = append(turns, transition{is: condition{Type: "Accepted", Status: "False", Reason: "ListenersNotValid",
		Message: "0 of 3 listeners can serve"}})
	var got []string
	for _, n := range makeNotes(turns, findings) {
		got = append(got, n.reason+": "+n.text)
	}
	want := []string{
		"ProtocolConflict: listener http: port 82 has the protocol HTTP here, but HTTPS in listener https",
		"UnsupportedProtocol: listener tls: protocol TLS is not supported; listener tcp: protocol TCP is not supported",
		"ListenersNotValid: 0 of 3 listeners can serve: tls: protocol TLS is not supported; tcp: protocol TCP is not " +
			"supported",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestTurnsThatAreUndone: what turned and is back is not told, and what was put into other words is told in the last
// ones.
func TestTurnsThatAreUndone(t *testing.T) {
	well := condition{Type: "ResolvedRefs", Status: "True", Reason: "ResolvedRefs", Message: "all"}
	bad := func(message string) condition {
		return condition{Type: "ResolvedRefs", Status: "False", Reason: "BackendNotFound", Message: message}
	}
	for name, c := range map[string]struct {
		turns []transition
		want  string
	}{
		"bad":                   {[]transition{{was: well, is: bad("a")}}, "[a]"},
		"bad and back":          {[]transition{{was: well, is: bad("a")}, {was: bad("a"), is: well}}, "[]"},
		"new, bad, and well":    {[]transition{{is: bad("a")}, {was: bad("a"), is: well}}, "[]"},
		"other words":           {[]transition{{was: bad("a"), is: bad("b")}}, "[b]"},
		"other words twice":     {[]transition{{was: bad("a"), is: bad("b")}, {was: bad("b"), is: bad("c")}}, "[c]"},
		"other words, and back": {[]transition{{was: bad("a"), is: bad("b")}, {was: bad("b"), is: bad("a")}}, "[]"},
		"well":                  {[]transition{{was: bad("a"), is: well}}, "[all]"},
		"at two places": {
			[]transition{{place: `"a"`, is: bad("a")}, {place: `"b"`, is: bad("b")}, {place: `"a"`, was: bad("a"), is: well}},
			"[listener b: b]",
		},
	} {
		var turns []transition
		for i := range c.turns {
			turns = joinTransitions(turns, c.turns[i:i+1])
		}
		var got []string
		for _, n := range makeNotes(turns, nil) {
			got = append(got, n.text)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
