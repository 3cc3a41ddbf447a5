package model

import "testing"

// TestPlain: nobody writes a line of a history into another one's terminal.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"green is ready": "green is ready", "é: 日本": "é: 日本", "x\x1b[31m\n99  root": `x\x1b[31m\n99  root`, "a\tb": `a\tb`,
	} {
		if got := EscapeUnprintable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
