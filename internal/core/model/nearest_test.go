package model

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"cardea", "cards", "envoy"}
	for name, want := range map[string]string{
		"cadrea": "cardea", "Cardea": "cardea", "card": "cards", "envoi": "envoy", "nowhere": "", "": "",
	} {
		if got := NearestName(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
