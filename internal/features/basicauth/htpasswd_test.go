package basicauth

import (
	"strings"
	"testing"
)

// TestParse: a file of users is taken whole, or not at all. An error names the line and the remedy, and no hash.
func TestParse(t *testing.T) {
	const ann = "ann:{SHA}/vNB+F2HQ559kaLUZbmHHvZrXpg="
	for _, of := range []struct{ text, want string }{
		{"# users\r\n\r\n" + ann + "\r\n", ""},
		{"", "no user"},
		{ann + "\n" + ann, "line 2: user ann is there twice"},
		{ann + "\nbob:$apr1$x$hash", "line 2: the password of user bob is not a {SHA} hash"},
		{"bob:{SSHA}hash", "htpasswd -s FILE bob"},
		{"bob:{SHA}hash", "line 1: the {SHA} hash of user bob is incomplete"},
		{"b\xf6b:{SHA}/vNB+F2HQ559kaLUZbmHHvZrXpg=", `line 1: the user "b\xf6b" is not UTF-8`},
		{"bob", "line 1: it is not user:{SHA}hash"},
		{":{SHA}/vNB+F2HQ559kaLUZbmHHvZrXpg=", "line 1: it is not user:{SHA}hash"},
	} {
		got, err := parseUsers(of.text)
		if of.want == "" {
			if err != nil || got != ann+"\n" {
				t.Errorf("%q: %q, %v", of.text, got, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), of.want) || strings.Contains(err.Error(), "$x$") {
			t.Errorf("%q: %v, want %q", of.text, err, of.want)
		}
	}
}
