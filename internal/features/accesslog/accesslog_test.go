package accesslog

import (
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestWords: what is told of a share.
func TestWords(t *testing.T) {
	for share, want := range map[int64]string{
		0: "requests are not logged", 1: "0.0001% of the requests are logged",
		250_000: "25% of the requests are logged", million: "",
	} {
		if got := strings.Join(Feature.Describe(Value{Share: &share}), "; "); got != want {
			t.Errorf("%d: %q, want %q", share, got, want)
		}
	}
	if Feature.OnInvalid != extend.Skip || Feature.Describe(Value{}) != nil {
		t.Error("nothing is stated")
	}
}
