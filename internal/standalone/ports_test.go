package standalone

import (
	"slices"
	"testing"
)

// Only what the proxy names is looked at: it holds the other addresses itself.
func TestUnbound(t *testing.T) {
	binds := []string{"127.0.0.1:80", "127.0.0.2:80", "[::1]:80"}
	for message, want := range map[string][]string{
		"error adding listener: cannot bind '127.0.0.2:80': Address already in use":                                    {"127.0.0.2:80"},
		"listener(s) a: cannot bind '[::1]:80': Permission denied, b: cannot bind '9.9.9.9:80': Address not available": {"[::1]:80"},
		"cannot bind '127.0.0.1:8080': Address already in use":                                                         nil,
		"'80' has duplicate address '127.0.0.1:80,127.0.0.2:80' as existing listener":                                  nil,
	} {
		if got := unbound(message, binds); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
