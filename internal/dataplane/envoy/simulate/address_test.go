package simulate

import (
	"testing"

	"cardea.dev/cardea/internal/core/request"
)

// TestFromEnd: an entry that is not there, or is no address, leaves the connection's address.
func TestFromEnd(t *testing.T) {
	for _, test := range []struct {
		forwarded string
		n         int
		want      string
	}{
		{"", 1, request.ClientAddress},
		{"10.1.2.3", 1, "10.1.2.3"},
		{"10.1.2.3, 10.1.2.4", 1, "10.1.2.4"},
		{"10.1.2.3,10.1.2.4", 2, "10.1.2.3"},
		{"10.1.2.3,10.1.2.4", 3, request.ClientAddress},
		{"10.1.2.3,unknown", 1, request.ClientAddress},
		{"10.1.2.3:80", 1, request.ClientAddress},
		{"::1,", 2, "::1"},
		{"::1,", 1, request.ClientAddress},
	} {
		if got := addressFromEnd(test.forwarded, test.n); got != test.want {
			t.Errorf("entry %d of %q is %q, want %q", test.n, test.forwarded, got, test.want)
		}
	}
}
