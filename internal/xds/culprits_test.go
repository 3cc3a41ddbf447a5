package xds

import (
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/resource"
)

func TestCulprits(t *testing.T) {
	const lds, cds = "Error adding/updating listener(s) ", "Error adding/updating cluster(s) "
	for _, c := range []struct {
		name    string
		typ     resource.Type
		sent    string
		message string
		want    string
	}{
		{"listeners, a line each", resource.Listener, "80 443 8080", lds + "80: bad\n8080: worse", "80 8080"},
		{"clusters, after commas", resource.Cluster, "a b c", cds + "a: bad, c: worse", "a c"},
		{"the only one, whatever is said", resource.Listener, "80", "no", "80"},
		{"a name in another one's words", resource.Listener, "443 80", lds + "443: chains 'x', 80: and 'y' clash", "443"},
		{"a name at the end of another one's words", resource.Listener, "443 80", lds + "443: cannot bind 'host:80': in use", "443"},
		{"a name that another one begins with", resource.Listener, "80 8080", lds + "8080: bad", "8080"},
		{"a name that another one ends with", resource.Cluster, "a/b b", cds + "a/b: bad", "a/b"},
		{"what was sent before can't be named after", resource.Cluster, "a b", cds + "b: at x, a: no", "b"},
		{"a name that was not sent", resource.Listener, "80 443", lds + "9090: bad\n443: bad", ""},
		{"several lines about one", resource.Listener, "80 443 90", lds + "80: filters {\n  port: 443\n}\n90: bad", "80 90"},
		{"a colon in a name", resource.Listener, "a: b a", lds + "a: b: bad", ""},
		{"words that only look so", resource.Cluster, "a b", "Proto constraint(s) a: bad", ""},
		{"nobody is named", resource.Cluster, "a b", "Proto constraint validation failed", ""},
		{"a type that Envoy never names", resource.Endpoints, "a b", cds + "a: bad", ""},
		{"nothing after the prefix", resource.Cluster, "a b", cds, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := strings.Fields(c.sent)
			if strings.Contains(c.sent, ":") {
				sent = []string{"a: b", "a"}
			}
			if got := strings.Join(culprits(c.typ, sent, c.message), " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// FuzzCulprits: whatever the words are, only what was sent is named, each once and in order.
func FuzzCulprits(f *testing.F) {
	f.Add("Error adding/updating listener(s) 80: bad\n443: bad")
	f.Add("Error adding/updating listener(s) 443: bad\n80: bad\n443: bad")
	sent := []string{"80", "443", "8080"}
	f.Fuzz(func(t *testing.T, message string) {
		last := -1
		for _, name := range culprits(resource.Listener, sent, message) {
			i := slices.Index(sent, name)
			if i <= last {
				t.Fatalf("%q is named out of order", name)
			}
			last = i
		}
	})
}
